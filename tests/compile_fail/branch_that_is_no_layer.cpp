// expect: one of the layers of this model is none
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using branch = zp::shape;
#else
using branch = zp::relu;
#endif
struct net : zp::model<zp::input<4, 4, 3>, zp::residual<branch>, zp::concat<branch, zp::identity>> {};

zp::float_model<net> model;
