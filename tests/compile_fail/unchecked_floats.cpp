// expect: this model takes floats, of which none is checked
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};

void run(const zp::float_model<net>& model, const std::array<float, 3>& x, std::array<float, 2>& y) {
#ifdef ZEROPOINT_MUST_FAIL
    model(zp::unchecked(x), y);
#else
    model(x, y);
#endif
}
