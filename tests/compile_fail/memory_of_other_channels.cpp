// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using memory = zp::input<1, 9, 12>;
#else
using memory = zp::input<1, 9, 8>;
#endif
struct net : zp::model<zp::named<"memory", memory>, zp::named<"x", zp::input<1, 6, 8>>,
                       zp::cross_attention<"a", 2, zp::from<"memory">>> {};

zp::float_model<net> model;
