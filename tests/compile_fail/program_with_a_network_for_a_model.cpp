// expect: Net must be a model .see Layer.*what takes a model takes no network of it
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
#ifdef ZEROPOINT_MUST_FAIL
void use() { whole_program<zp::float_model<net>, zp::default_qconfig>(); }
#else
zp::float_model<net> model;
#endif
