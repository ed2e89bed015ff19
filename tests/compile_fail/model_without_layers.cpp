// expect: this model has an input and no layer: add one
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 3>> {};
#else
struct net : zp::model<zp::input<4, 4, 3>, zp::relu> {};
#endif

zp::float_model<net> model;
