// expect: this operator cannot take inputs of these shapes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using product = zp::matmul<zp::identity, zp::identity>;
#else
using product = zp::matmul_transposed<zp::identity, zp::identity>;
#endif
struct net : zp::model<zp::input<2, 5, 6>, product> {};

zp::float_model<net> model;
