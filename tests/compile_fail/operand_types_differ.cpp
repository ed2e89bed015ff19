// expect: what this layer reads and writes has activations of different dtypes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/stages.hpp>

struct net
    : zp::model<zp::input<4, 4, 3>,
                zp::add<zp::conv2d<"a", zp::conv{.out_channels = 2}>, zp::conv2d<"b", zp::conv{.out_channels = 2}>>> {};
#ifdef ZEROPOINT_MUST_FAIL
using signed_or_not = zp::qint8;
#else
using signed_or_not = zp::quint8;
#endif
struct other : zp::qconfig<zp::quantizer<signed_or_not, zp::per_tensor_affine, zp::min_max_observer>,
                           zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::for_layer<"b", other>> {};

zp::quantized<net, config> model;
