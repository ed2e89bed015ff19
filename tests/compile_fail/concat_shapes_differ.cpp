// expect: the branches that meet in this add, residual or concat have different shapes .* check stride, padding and out_channels of the branches
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

using zp::conv;
#ifdef ZEROPOINT_MUST_FAIL
struct net
    : zp::model<zp::input<4, 4, 3>, zp::concat<zp::identity, zp::conv2d<"a", conv{.out_channels = 8, .stride = 2}>>> {};
#else
struct net : zp::model<zp::input<4, 4, 3>, zp::concat<zp::identity, zp::conv2d<"a", conv{.out_channels = 8}>>> {};
#endif

zp::float_model<net> model;
