// expect: two layers of this model have the same name .see Layer in error_in_layer<rule, Layer, ...>.: layers share no parameters here, give one of them another name
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

using zp::conv;
#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"conv1", conv{.out_channels = 3}>,
                       zp::conv2d<"conv1", conv{.out_channels = 3}>> {};
#else
struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"conv1", conv{.out_channels = 3}>,
                       zp::conv2d<"conv2", conv{.out_channels = 3}>> {};
#endif

zp::float_model<net> model;
