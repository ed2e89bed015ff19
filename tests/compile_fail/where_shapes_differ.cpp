// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/where.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net
    : zp::model<zp::input<4, 6, 8>, zp::where<zp::relu, zp::sigmoid, zp::conv2d<"a", zp::conv{.out_channels = 3}>>> {};
#else
struct net
    : zp::model<zp::input<4, 6, 8>, zp::where<zp::relu, zp::sigmoid, zp::conv2d<"a", zp::conv{.out_channels = 8}>>> {};
#endif

zp::float_model<net> model;
