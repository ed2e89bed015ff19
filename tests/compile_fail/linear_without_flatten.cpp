// expect: this linear layer is given an image, not a vector .*: put zp::flatten or zp::adaptive_avg_pool2d<1> in front of it
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 3>, zp::linear<"fc", 10>> {};
#else
struct net : zp::model<zp::input<4, 4, 3>, zp::flatten, zp::linear<"fc", 10>> {};
#endif

zp::float_model<net> model;
