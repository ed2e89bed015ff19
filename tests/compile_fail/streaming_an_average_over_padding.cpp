// expect: avg_pool1d without padding of its own
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/workflow/streaming.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct average : zp::avg_pool1d<zp::pool{.kernel = 3, .stride = 2, .padding = 1}> {};
#else
struct average
    : zp::sequential<zp::zero_pad2d<zp::sides(1, 1, 0, 0)>, zp::avg_pool1d<zp::pool{.kernel = 3, .stride = 2}>> {};
#endif
struct net : zp::model<zp::input<1, 9, 6>, average, zp::linear<"each", 4>> {};

const zp::float_model<net> model;
zp::streaming<zp::float_model<net>> stream(model);
