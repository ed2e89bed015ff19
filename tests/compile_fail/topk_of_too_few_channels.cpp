// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/topk.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::topk<9>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::topk<1>, zp::sort<>> {};
#endif

zp::float_model<net> model;
