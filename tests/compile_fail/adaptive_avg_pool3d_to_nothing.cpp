// expect: adaptive_avg_pool3d<Depth, Height, Width>: each extent must be at least 1
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/volume_pooling.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 6, 8>, zp::adaptive_avg_pool3d<1, 0>> {};
#else
struct net : zp::model<zp::input<4, 6, 6, 8>, zp::adaptive_avg_pool3d<1, 2>> {};
#endif

zp::float_model<net> model;
