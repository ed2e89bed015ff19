// expect: two layers of this model have the same name .*: layers share no parameters here, give one of them another name.*of several inputs each has its own
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using second = zp::input<1, 1, 3>;
#else
using second = zp::named<"second", zp::input<1, 1, 3>>;
#endif
struct net : zp::model<zp::input<1, 1, 3>, zp::add<zp::identity, second>> {};

zp::float_model<net> model;
