// expect: a qconfig chooses an algorithm for this layer, which has none to choose: it is no convolution or linear layer, or stays in float32
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/stages.hpp>

struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"conv1", zp::conv{.out_channels = 2}>,
                       zp::conv2d<"conv2", zp::conv{.out_channels = 2}>> {};
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::keep_float<"conv1">, zp::for_layer<"conv1", zp::algorithm<zp::smallest>>> {};
#else
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::keep_float<"conv1">, zp::for_layer<"conv2", zp::algorithm<zp::smallest>>> {};
#endif

zp::quantized<net, config> model;
