// expect: this layer needs at least one output: set .out_channels in zp::conv{...} .only a depthwise convolution may leave it out
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

using zp::conv;
#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::conv2d<"a", conv{.kernel = 3}>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::conv2d<"a", conv{.kernel = 3, .groups = zp::depthwise}>> {};
#endif

zp::float_model<net> model;
