// expect: the branches that meet in this add, residual or concat have different shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

using zp::conv;
#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 3>, zp::residual<zp::conv2d<"a", conv{.out_channels = 3, .kernel = 3}>>> {};
#else
struct net
    : zp::model<zp::input<4, 4, 3>, zp::residual<zp::conv2d<"a", conv{.out_channels = 3, .kernel = 3, .padding = 1}>>> {
};
#endif

zp::float_model<net> model;
