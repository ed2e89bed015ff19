// expect: names a layer that has no such form .see layer_takes_no_integer_weights<Name, Model>.: dynamic takes linear and recurrent layers and convolutions of one group, weight_only linear and recurrent layers
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/stages.hpp>

struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"conv", zp::conv{.out_channels = 2}>, zp::flatten,
                       zp::linear<"hidden", 16>, zp::linear<"scores", 4>> {};
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::weight_only<"conv">> {};
#else
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::weight_only<"hidden">> {};
#endif

zp::quantized<net, config> model;
