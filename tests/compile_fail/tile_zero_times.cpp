// expect: tile<Height, Width, Channels>: each says how many times, and must be at least 1
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::tile<2, 0>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::tile<2, 1, 3>> {};
#endif

zp::float_model<net> model;
