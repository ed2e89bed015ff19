// expect: the window of this layer is larger than its padded input .*: take a smaller kernel, or more padding
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::max_pool2d<5>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::max_pool2d<4>> {};
#endif

zp::float_model<net> model;
