// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/rearrange.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<8, 9, 2>, zp::window_partition<4>> {};
#else
struct net : zp::model<zp::input<8, 12, 2>, zp::window_partition<4>> {};
#endif

zp::float_model<net> model;
