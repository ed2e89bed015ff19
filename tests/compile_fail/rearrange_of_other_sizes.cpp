// expect: the output must have as many values as the extents
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/rearrange.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr zp::shape out{8, 4, 3};
#else
constexpr zp::shape out{8, 4, 2};
#endif
struct net : zp::model<zp::input<8, 4, 2>, zp::rearrange<zp::extents<8, 8>, zp::order<1, 0>, out>> {};

zp::float_model<net> model;
