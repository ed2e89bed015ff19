// expect: one of the layers of this model is none .see error_in_layer<rule, Layer, shape{1, 1, its place among the arguments}, ...>.: a layer is a type with a static int .nodes. and .lower.builder&, int..
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct mine {};
#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 3>, zp::relu, mine> {};
#else
struct net : zp::model<zp::input<4, 4, 3>, zp::relu> {};
#endif

zp::float_model<net> model;
