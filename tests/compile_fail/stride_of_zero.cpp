// expect: kernel, stride and dilation of this layer must be at least 1, and padding at least 0
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

using zp::conv;
#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::conv2d<"a", conv{.out_channels = 2, .stride = 0}>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::conv2d<"a", conv{.out_channels = 2, .stride = 1}>> {};
#endif

zp::float_model<net> model;
