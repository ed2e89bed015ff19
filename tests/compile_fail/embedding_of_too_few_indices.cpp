// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int count = 3;
#else
constexpr int count = 2;
#endif
struct net
    : zp::model<zp::indices<3>, zp::embedding<"words", 9, 2, zp::embedding_options{.first = 1, .count = count}>> {};

zp::float_model<net> model;
