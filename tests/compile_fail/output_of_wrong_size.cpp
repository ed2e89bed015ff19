// expect: y does not have the number of values that the model's output has
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};
#ifdef ZEROPOINT_MUST_FAIL
using output = std::array<float, 3>;
#else
using output = std::array<float, 2>;
#endif

void run(const zp::float_model<net>& model, const std::array<float, 3>& x, output& y) { model(x, y); }
