// expect: zp::streaming cannot run this layer step by step
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/streaming.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using last = zp::adaptive_avg_pool1d<1>;  // over all steps
#else
using last = zp::avg_pool1d<7>;  // over each seven
#endif
struct net : zp::model<zp::input<1, 9, 6>, zp::zero_pad2d<zp::sides(2, 0, 0, 0)>,
                       zp::conv1d<"conv", zp::conv{.out_channels = 4, .kernel = 3}>, last> {};

const zp::float_model<net> model;
zp::streaming<zp::float_model<net>> stream(model);
