// expect: this layer is given floats, and takes indices
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using keys = zp::input<1, 6, 1>;
#else
using keys = zp::indices<6>;
#endif
struct net : zp::model<keys, zp::attention_mask> {};

zp::float_model<net> model;
