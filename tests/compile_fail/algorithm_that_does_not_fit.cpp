// expect: the algorithm that the qconfig names for this layer cannot compute its window and groups .see error_in_layer<rule, Layer, input shape, output shape>.: name another for it, or take zp::balanced, zp::fastest or zp::smallest
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/stages.hpp>

struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"conv1", zp::conv{.out_channels = 2}>,
                       zp::conv2d<"conv2", zp::conv{.kernel = 3, .groups = zp::depthwise}>> {};
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::for_layer<"conv1", zp::algorithm<zp::conv2d_algorithm::depthwise>>> {};
#else
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::for_layer<"conv2", zp::algorithm<zp::conv2d_algorithm::depthwise>>> {};
#endif

zp::quantized<net, config> model;
