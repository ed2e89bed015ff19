// expect: zp::streaming cannot run this layer step by step
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/constant.hpp>
#include <zeropoint/workflow/streaming.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 4, 6>, zp::add<zp::identity, zp::constant<"positions", 1, 4, 6>>> {};
#else
struct net : zp::model<zp::input<1, 4, 6>, zp::add<zp::identity, zp::constant<"shift", 1, 1, 6>>> {};
#endif

void stream(const zp::float_model<net>& model) { zp::streaming<zp::float_model<net>> steps(model); }
