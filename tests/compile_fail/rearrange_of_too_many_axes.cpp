// expect: more than five axes move apart from each other: take two of it
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/rearrange.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using axes = zp::order<5, 4, 3, 2, 1, 0>;
#else
using axes = zp::order<5, 4, 3, 2, 0, 1>;
#endif
struct net : zp::model<zp::input<8, 4, 2>, zp::rearrange<zp::extents<2, 2, 2, 2, 2, 2>, axes, zp::shape{8, 4, 2}>> {};

zp::float_model<net> model;
