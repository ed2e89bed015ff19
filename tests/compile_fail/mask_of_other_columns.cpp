// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using mask = zp::indices<7>;
#else
using mask = zp::indices<6>;
#endif
struct net
    : zp::model<zp::named<"keys", mask>, zp::named<"mask", zp::attention_mask>, zp::named<"x", zp::input<1, 6, 8>>,
                zp::self_attention<"a", 2, zp::with_bias::yes, zp::from<"mask">>> {};

zp::float_model<net> model;
