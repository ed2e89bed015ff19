// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/group_norm.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int groups = 4;
#else
constexpr int groups = 3;
#endif
struct net : zp::model<zp::input<4, 4, 6>, zp::group_norm<"norm", groups>> {};

zp::float_model<net> model;
