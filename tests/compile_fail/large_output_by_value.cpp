// expect: output has more than 4096 bytes: call model.x, y, memory.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 1025>> {};

void run(const zp::float_model<net>& model, const std::array<float, 3>& x, std::array<float, 1025>& y) {
#ifdef ZEROPOINT_MUST_FAIL
    const auto result = model(x);
    y[0] = result[0];
#else
    model(x, y);
#endif
}
