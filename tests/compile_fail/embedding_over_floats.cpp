// expect: this layer is given floats, and takes indices
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using in = zp::input<1, 1, 3>;
#else
using in = zp::indices<3>;
#endif
struct net : zp::model<in, zp::embedding<"words", 9, 2>> {};

zp::float_model<net> model;
