// expect: reshape<Height, Width, Channels>: extents are at least 1
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/reshape.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::reshape<-1, 4, -1>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::reshape<-1, 4, 8>> {};
#endif

zp::float_model<net> model;
