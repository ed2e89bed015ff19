// expect: this model has no layer of that name .see no_layer_named<Name, the nearest name that there is, Model>
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::with<zp::default_qconfig, zp::keep_float<"stam">> {};
void use() { whole_program<net, config>(); }
#else
struct config : zp::with<zp::default_qconfig, zp::keep_float<"stem">> {};
config made;
#endif
