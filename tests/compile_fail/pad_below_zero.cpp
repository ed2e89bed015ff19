// expect: pad<Sides, ...>: no side may be below 0
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/pad.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::zero_pad2d<-1>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::zero_pad2d<1>> {};
#endif

zp::float_model<net> model;
