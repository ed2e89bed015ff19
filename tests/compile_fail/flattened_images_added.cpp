// expect: a flattened image, .* may only be read by a linear layer .*: add, concatenate or normalize the images first, and flatten behind that
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct net : zp::model<zp::input<4, 4, 6>, zp::concat<zp::flatten, zp::sequential<zp::relu, zp::flatten>>,
                       zp::linear<"fc", 2>> {};
#else
struct net : zp::model<zp::input<4, 4, 6>, zp::concat<zp::identity, zp::relu>, zp::flatten, zp::linear<"fc", 2>> {};
#endif

zp::float_model<net> model;
