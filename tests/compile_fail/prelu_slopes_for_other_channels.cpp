// expect: this operator takes an input of another shape .see error_in_layer<rule, Layer, the shape that came, the shape that it is for>
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/prelu.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::prelu<"a", 4>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::prelu<"a", 6>, zp::prelu<"b">> {};
#endif

zp::float_model<net> model;
