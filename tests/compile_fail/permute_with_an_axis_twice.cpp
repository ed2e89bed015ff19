// expect: permute<Channels, Height, Width>: name each axis once
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 8>, zp::permute<zp::axis::width, zp::axis::height, zp::axis::width>> {};
#else
struct net : zp::model<zp::input<4, 6, 8>, zp::permute<zp::axis::width, zp::axis::height, zp::axis::channels>> {};
#endif

zp::float_model<net> model;
