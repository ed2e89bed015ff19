// expect: the inner qconfig must have no options of its own
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::min_max_observer>;
#ifdef ZEROPOINT_MUST_FAIL
struct inner : zp::qconfig<activations, weights, zp::requantize_with<zp::float_bias>> {};
#else
struct inner : zp::qconfig<activations, weights> {};
#endif
struct config : zp::qconfig<activations, weights, zp::for_layer<"conv1", inner>> {};
config c;
