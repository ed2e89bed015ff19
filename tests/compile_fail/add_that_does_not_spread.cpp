// expect: an add spreads extents of 1 alone
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/constant.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 4, 6>, zp::add<zp::identity, zp::constant<"positions", 1, 2, 6>>> {};
#else
struct net : zp::model<zp::input<1, 4, 6>, zp::add<zp::identity, zp::constant<"positions", 1, 1, 6>>> {};
#endif

zp::float_model<net> model;
