// expect: kernel, stride and dilation of this layer must be at least 1
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
inline constexpr int depth_stride = 0;
#else
inline constexpr int depth_stride = 1;
#endif
struct net
    : zp::model<zp::input<4, 6, 6, 2>,
                zp::conv3d<"conv", zp::volume_conv{.out_channels = 8, .kernel = 3, .stride = {depth_stride, 1, 1}}>> {};

zp::float_model<net> model;
