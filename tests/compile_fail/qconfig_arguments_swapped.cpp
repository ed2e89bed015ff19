// expect: the first two arguments must be zp::quantizer<dtype, qscheme, observer>, activations first, then weights
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<zp::keep_float<"fc">, activations, weights> {};
#else
struct config : zp::qconfig<activations, weights, zp::keep_float<"fc">> {};
#endif

config made;
