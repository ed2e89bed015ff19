// expect: for_type<Kind, algorithm<policy>>: only zp::op::conv2d, zp::op::conv3d, zp::op::conv_transpose2d, zp::op::conv_transpose3d and zp::op::linear layers have algorithms to choose from
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/common.hpp>
#include <zeropoint/workflow/qconfig.hpp>

#ifdef ZEROPOINT_MUST_FAIL
inline constexpr const zp::operator_kind& kind = zp::op::max_pool2d;
#else
inline constexpr const zp::operator_kind& kind = zp::op::linear;
#endif
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>,
                            zp::for_type<kind, zp::algorithm<zp::smallest>>> {};
constexpr int entries = zp::qconfig_entries<config>::count;
