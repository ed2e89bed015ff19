// expect: the input channels and out_channels of this convolution must be divisible by groups
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

using zp::conv;
#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::conv2d<"a", conv{.out_channels = 8, .groups = 4}>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::conv2d<"a", conv{.out_channels = 8, .groups = 2}>> {};
#endif

zp::float_model<net> model;
