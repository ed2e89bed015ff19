// expect: a zp::from goes on from a value that is not there .see no_value_named<its name, the nearest name that there is>.: its name must be that of an input or a layer in front of it
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using earlier = zp::from<"lefft">;
#else
using earlier = zp::from<"left">;
#endif
struct net : zp::model<zp::named<"left", zp::input<1, 1, 3>>, zp::named<"right", zp::input<1, 1, 3>>,
                       zp::add<zp::identity, earlier>, zp::output<"sum">, zp::from<"left">, zp::output<"left_again">> {
};

zp::float_model<net> model;
