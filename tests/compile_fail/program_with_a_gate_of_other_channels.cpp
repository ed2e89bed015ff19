// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net
    : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::relu,
                zp::mul<zp::identity, zp::sequential<zp::adaptive_avg_pool2d<1>, zp::linear<"s", 16>, zp::sigmoid>>,
                zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
void use() { whole_program<net, zp::default_qconfig>(); }
#else
struct net
    : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                zp::relu,
                zp::mul<zp::identity, zp::sequential<zp::adaptive_avg_pool2d<1>, zp::linear<"s", 8>, zp::sigmoid>>,
                zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
zp::float_model<net> model;
#endif
