// expect: the first argument must be a quantized dtype such as zp::quint8 or zp::qint8 .the order is dtype, qscheme, observer
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

struct net : zp::model<zp::input<8, 8, 3>, zp::conv2d<"stem", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
#ifdef ZEROPOINT_MUST_FAIL
using activations = zp::quantizer<zp::per_tensor_affine, zp::quint8, zp::min_max_observer>;
struct config : zp::qconfig<activations, zp::default_qconfig::weight> {};
void use() { whole_program<net, config>(); }
#else
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
struct config : zp::qconfig<activations, zp::default_qconfig::weight> {};
config made;
#endif
