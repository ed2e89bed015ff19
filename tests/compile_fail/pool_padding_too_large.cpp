// expect: the padding of a pooling layer may be at most half of its kernel
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::max_pool2d<zp::pool{.kernel = 3, .padding = 2}>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::max_pool2d<zp::pool{.kernel = 3, .padding = 1}>> {};
#endif

zp::float_model<net> model;
