// expect: a projection has fewer values than it, as in PyTorch
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int projection = 8;
#else
constexpr int projection = 7;
#endif
struct net : zp::model<zp::input<1, 4, 6>, zp::lstm<"rnn", 8, zp::recurrent_options{.projection = projection}>> {};

zp::float_model<net> model;
