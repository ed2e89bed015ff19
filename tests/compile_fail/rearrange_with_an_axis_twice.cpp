// expect: name each axis of the extents once, the first is 0
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/rearrange.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using axes = zp::order<1, 1>;
#else
using axes = zp::order<1, 0>;
#endif
struct net : zp::model<zp::input<8, 4, 2>, zp::rearrange<zp::extents<8, 8>, axes, zp::shape{8, 4, 2}>> {};

zp::float_model<net> model;
