// expect: interpolate<Options>: give a .size of at least 1 x 1
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/interpolate.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::interpolate<zp::resize{.size = {8, 0}}>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::interpolate<zp::resize{.size = {8, 6}}>> {};
#endif

zp::float_model<net> model;
