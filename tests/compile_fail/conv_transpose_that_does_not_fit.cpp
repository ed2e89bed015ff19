// expect: that output_padding is smaller than stride or dilation, and that padding leaves something of the output
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/layer/static_layers.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr zp::conv_transpose options{.out_channels = 4, .kernel = 3, .stride = 2, .output_padding = 2};
#else
constexpr zp::conv_transpose options{.out_channels = 4, .kernel = 3, .stride = 2, .output_padding = 1};
#endif

using layer = zp::quantized_conv_transpose2d<zp::shape{4, 4, 2}, options>;
constexpr zp::shape extents = layer::output_shape;
