// expect: this layer sums so many products that an int32 accumulator can overflow with these dtypes .*: split its input channels, take a narrower dtype, or leave it in float
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/stages.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 1, 40000>, zp::linear<"fc", 2>> {};
#else
struct net : zp::model<zp::input<1, 1, 30000>, zp::linear<"fc", 2>> {};
#endif
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

zp::quantized<net, config> model;
