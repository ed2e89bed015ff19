// expect: this model takes indices, which are no image
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>

#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::indices<3>, zp::embedding<"words", 9, 2>> {};

void run(const zp::float_model<net>& model, const std::array<std::int32_t, 3>& x, std::array<float, 6>& y) {
#ifdef ZEROPOINT_MUST_FAIL
    model(zp::nchw(x), y);
#else
    model(x, y);
#endif
}
