// expect: layers must be 1 to 8
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int layers = 9;
#else
constexpr int layers = 8;
#endif
struct net : zp::model<zp::input<1, 4, 6>, zp::gru<"rnn", 8, zp::recurrent_options{.layers = layers}>> {};

zp::float_model<net> model;
