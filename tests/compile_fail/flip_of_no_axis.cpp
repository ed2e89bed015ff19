// expect: flip<Along...>: name an axis
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::flip<>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::flip<zp::axis::width>> {};
#endif

zp::float_model<net> model;
