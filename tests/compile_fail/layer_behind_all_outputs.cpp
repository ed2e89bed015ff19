// expect: of a model with several outputs, mark each by zp::output
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

#ifdef ZEROPOINT_MUST_FAIL
struct score : zp::linear<"score", 2> {};
#else
struct score : zp::sequential<zp::linear<"score", 2>, zp::output<"score">> {};
#endif
struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 4>, zp::output<"features">, score> {};

zp::float_model<net> model;
