// expect: Name is that of its tensor in the state dict
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/constant.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 4, 6>, zp::add<zp::identity, zp::constant<"", 1, 4, 6>>> {};
#else
struct net : zp::model<zp::input<1, 4, 6>, zp::add<zp::identity, zp::constant<"positions", 1, 4, 6>>> {};
#endif

zp::float_model<net> model;
