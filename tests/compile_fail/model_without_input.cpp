// expect: a model begins with its input: the first argument of zp::model must be a zp::input<Height, Width, Channels>
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::flatten, zp::linear<"fc", 10>> {};
#else
struct net : zp::model<zp::input<4, 4, 3>, zp::flatten, zp::linear<"fc", 10>> {};
#endif

zp::float_model<net> model;
