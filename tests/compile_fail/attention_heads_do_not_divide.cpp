// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int heads = 5;
#else
constexpr int heads = 4;
#endif
struct net : zp::model<zp::input<1, 7, 12>, zp::self_attention<"attn", heads>> {};

zp::float_model<net> model;
