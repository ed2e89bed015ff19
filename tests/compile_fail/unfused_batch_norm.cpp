// expect: this layer has no quantized form .*: leave it in float with zp::keep_float<.*> in the qconfig. put a batch_norm right behind its conv2d or linear, which it is folded into, or take zp::unfused_batch_norm
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/stages.hpp>

struct net : zp::model<zp::input<4, 4, 3>, zp::max_pool2d<2>, zp::batch_norm2d<"bn">> {};
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};
#else
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::keep_float<"bn">> {};
#endif

zp::quantized<net, config> model;
