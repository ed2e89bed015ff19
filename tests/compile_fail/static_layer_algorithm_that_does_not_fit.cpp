// expect: quantized_conv2d<Input, Options, Activation, Policy>: the algorithm that Policy names cannot compute this window and these groups: name another in zp::fused_policy
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/layer/static_layers.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr zp::conv options{.out_channels = 4, .kernel = 3};
#else
constexpr zp::conv options{.out_channels = 4, .kernel = 3, .groups = zp::depthwise};
#endif

using depthwise =
    zp::fused_policy<zp::quint8, zp::qint8, zp::quint8, zp::nearest_even, zp::conv2d_algorithm::depthwise>;
using layer = zp::quantized_conv2d<zp::shape{4, 4, 4}, options, zp::op::none, depthwise>;
constexpr int bytes = layer::parameter_bytes;
