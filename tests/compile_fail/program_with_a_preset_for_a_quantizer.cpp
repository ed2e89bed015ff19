// expect: the first two arguments must be zp::quantizer.*options are added to another qconfig, such as a preset, by zp::with
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<zp::default_qconfig, zp::keep_float<"fc">> {};
void use() { whole_program<net, config>(); }
#else
struct config : zp::with<zp::default_qconfig, zp::keep_float<"fc">> {};
zp::quantized<net, config> model;
#endif
