// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/variance.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 6, 8>, zp::variance<zp::axes::height>> {};
#else
struct net : zp::model<zp::input<1, 6, 8>, zp::variance<zp::axes::width>> {};
#endif

zp::float_model<net> model;
