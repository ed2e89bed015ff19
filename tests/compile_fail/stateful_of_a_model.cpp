// expect: stateful<Network>: Network must be a network of the model
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/workflow/stateful.hpp>

struct net : zp::model<zp::input<1, 9, 6>, zp::gru<"layer", 4>> {};

#ifdef ZEROPOINT_MUST_FAIL
const zp::float_model<net> model;
zp::stateful<net> stream(model);
#else
zp::stateful<zp::float_model<net>>* stream = nullptr;
#endif
