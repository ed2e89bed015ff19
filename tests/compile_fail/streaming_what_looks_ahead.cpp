// expect: zp::streaming cannot run this layer step by step
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/streaming.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr zp::sides around(1, 1, 0, 0);  // one step before, and one that is yet to come
#else
constexpr zp::sides around(2, 0, 0, 0);
#endif
struct net : zp::model<zp::input<1, 9, 6>, zp::zero_pad2d<around>,
                       zp::conv1d<"conv", zp::conv{.out_channels = 4, .kernel = 3}>> {};

const zp::float_model<net> model;
zp::streaming<zp::float_model<net>> stream(model);
