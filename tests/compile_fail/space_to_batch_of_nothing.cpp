// expect: space_to_batch<Height, Width>: each is the extent of a block, and must be at least 1
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/batch_space.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::space_to_batch<0>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::space_to_batch<2>> {};
#endif

zp::float_model<net> model;
