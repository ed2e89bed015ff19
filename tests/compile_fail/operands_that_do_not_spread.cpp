// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/sum.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::mul<zp::identity, zp::conv2d<"a", zp::conv{.out_channels = 3}>>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::mul<zp::identity, zp::conv2d<"a", zp::conv{.out_channels = 1}>>,
                       zp::sub<zp::identity, zp::mean<>>> {};
#endif

zp::float_model<net> model;
