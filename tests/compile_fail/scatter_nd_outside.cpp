// expect: scatter_nd<Height, Width, Pixels...>: give it different pixels, each inside of Height x Width
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/gather_nd.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 2, 3>, zp::scatter_nd<2, 2, zp::pixel{0, 0}, zp::pixel{0, 2}>> {};
#else
struct net : zp::model<zp::input<1, 2, 3>, zp::scatter_nd<2, 3, zp::pixel{0, 0}, zp::pixel{0, 2}>> {};
#endif

zp::float_model<net> model;
