// expect: activations have one scale a tensor: take zp::per_tensor_affine or zp::per_tensor_symmetric for the first quantizer .per_channel belongs to weights
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<weights, activations> {};
#else
struct config : zp::qconfig<activations, weights> {};
#endif

config made;
