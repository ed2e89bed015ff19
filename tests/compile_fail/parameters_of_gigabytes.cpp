// expect: the parameters of this network take 2 GiB or more, which is more than it counts
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/linear.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int wide = 16384;
#else
constexpr int wide = 64;
#endif
struct net : zp::model<zp::input<1, 1, wide>, zp::linear<"a", wide>, zp::linear<"b", wide>> {};

static_assert(sizeof(zp::float_model<net>) != 0);
