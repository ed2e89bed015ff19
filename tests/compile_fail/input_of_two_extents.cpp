// expect: input<Height, Width, Channels>, or input<Depth, Height, Width, Channels>: each extent
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using in = zp::input<8, 8>;
#else
using in = zp::input<1, 8, 8>;
#endif

struct net : zp::model<in, zp::relu> {};

zp::float_model<net> model;
