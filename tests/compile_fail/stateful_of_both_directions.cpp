// expect: it runs in both directions, and the way back begins
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/workflow/stateful.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr bool both = true;
#else
constexpr bool both = false;
#endif
struct net : zp::model<zp::input<1, 9, 6>, zp::lstm<"lstm", 4, zp::recurrent_options{.bidirectional = both}>> {};

const zp::float_model<net> model;
zp::stateful<zp::float_model<net>> stream(model);
