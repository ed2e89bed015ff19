// expect: these options do not fit the input: check that out_channels is set, that groups divides both channel counts, and that the kernel is no larger than the padded input
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/layer/static_layers.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr zp::conv options{.out_channels = 4, .kernel = 5};
#else
constexpr zp::conv options{.out_channels = 4, .kernel = 5, .padding = 2};
#endif

using layer = zp::quantized_conv2d<zp::shape{4, 4, 2}, options>;
constexpr int bytes = layer::parameter_bytes;
