// expect: max_pool3d / avg_pool3d<Options>: kernel, stride and dilation must be at least 1
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/volume_pooling.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 6, 6, 8>, zp::avg_pool3d<zp::volume_pool{.stride = {0, 2, 2}}>> {};
#else
struct net : zp::model<zp::input<4, 6, 6, 8>, zp::avg_pool3d<zp::volume_pool{.stride = {1, 2, 2}}>> {};
#endif

zp::float_model<net> model;
