// expect: prelu<Name, Slopes>: Slopes is 1, or the number of channels of its input
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/prelu.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::prelu<"a", 0>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::prelu<"a", 1>> {};
#endif

zp::float_model<net> model;
