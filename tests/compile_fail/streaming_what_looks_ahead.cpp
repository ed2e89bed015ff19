// expect: its window reads steps that are yet to come: give it zeros in front
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/streaming.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int stride = 1;  // one step of zeros in front, and one that is yet to come
#else
constexpr int stride = 2;  // which comes with the one before
#endif
struct net : zp::model<zp::input<1, 9, 6>,
                       zp::conv1d<"conv", zp::conv{.out_channels = 4, .kernel = 3, .stride = stride, .padding = 1}>> {};

const zp::float_model<net> model;
zp::streaming<zp::float_model<net>> stream(model);
