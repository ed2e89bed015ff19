// expect: standard_deviation<Over, Correction>: Correction must be 0 or more
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/variance.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int correction = -1;
#else
constexpr int correction = 0;
#endif
struct net : zp::model<zp::input<4, 6, 8>, zp::standard_deviation<zp::axes::image, correction>> {};

zp::float_model<net> model;
