// expect: slice<Along, Begin, End, Step>: Step must be at least 1
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::slice<zp::axis::width, 0, zp::to_end, 0>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::slice<zp::axis::width, 0, zp::to_end, 2>> {};
#endif

zp::float_model<net> model;
