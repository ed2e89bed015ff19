// expect: this layer runs along a sequence, 1 x length x channels, and is given an image
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using in = zp::input<4, 4, 6>;
#else
using in = zp::input<1, 4, 6>;
#endif
struct net : zp::model<in, zp::conv1d<"conv", zp::conv{.out_channels = 4, .kernel = 3}>> {};

zp::float_model<net> model;
