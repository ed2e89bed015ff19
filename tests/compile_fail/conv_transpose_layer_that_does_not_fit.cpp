// expect: these options do not fit the input of this transposed convolution
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr zp::conv_transpose options{.out_channels = 4, .kernel = 3, .stride = 2, .padding = 5};
#else
constexpr zp::conv_transpose options{.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1};
#endif
struct net : zp::model<zp::input<4, 4, 6>, zp::conv_transpose2d<"up", options>> {};

zp::float_model<net> model;
