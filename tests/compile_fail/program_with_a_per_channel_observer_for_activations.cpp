// expect: a per_channel observer stands beside a per_tensor scheme
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::per_channel_min_max_observer>,
                            zp::default_qconfig::weight> {};
void use() { whole_program<net, config>(); }
#else
struct config
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>, zp::default_qconfig::weight> {
};
config made;
#endif
