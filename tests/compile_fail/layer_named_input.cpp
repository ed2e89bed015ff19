// expect: two layers of this model have the same name.*a zp::input without one is named .*input
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/activations.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<1, 1, 8>, zp::linear<"input", 16>, zp::tanh,
                       zp::add<zp::from<"input">, zp::linear<"fc", 16>>> {};
#else
struct net : zp::model<zp::named<"x", zp::input<1, 1, 8>>, zp::linear<"input", 16>, zp::tanh,
                       zp::add<zp::from<"input">, zp::linear<"fc", 16>>> {};
#endif

zp::float_model<net> model;
