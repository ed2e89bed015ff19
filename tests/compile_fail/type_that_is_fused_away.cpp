// expect: selects layers that are all fused into others .*so that it would do nothing
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/stages.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr const zp::operator_kind& selected = zp::op::relu;
#else
constexpr const zp::operator_kind& selected = zp::op::conv2d;
#endif
struct net : zp::model<zp::input<4, 4, 3>, zp::conv2d<"conv1", zp::conv{.out_channels = 2}>, zp::relu> {};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::min_max_observer>,
                            zp::keep_float_type<selected>> {};
zp::quantized<net, config> model;
