// expect: this model has no layer with a state, such as zp::lstm
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/workflow/stateful.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 9, 6>, zp::linear<"layer", 4>> {};
#else
struct net : zp::model<zp::input<1, 9, 6>, zp::gru<"layer", 4>> {};
#endif

const zp::float_model<net> model;
zp::stateful<zp::float_model<net>> stream(model);
