// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/compare.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::less<zp::identity, zp::adaptive_avg_pool2d<2>>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::less<zp::identity, zp::adaptive_avg_pool2d<1>>> {};
#endif

zp::float_model<net> model;
