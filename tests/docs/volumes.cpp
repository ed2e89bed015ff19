// SPDX-License-Identifier: BSD-3-Clause
// The code of docs/layers.md on volumes.
#include <memory>
#include <vector>

#include <doctest/doctest.h>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>

#include "../support/made_up.hpp"

namespace {

// clang-format off
// [volume]
struct scan : zp::model<zp::input<16, 32, 32, 4>,  // depth, height, width, channels
                        zp::conv3d<"conv", zp::volume_conv{.out_channels = 8, .kernel = {1, 3, 3}}>,
                        zp::batch_norm3d<"norm">, zp::relu, zp::max_pool3d<2>,
                        zp::avg_pool3d<zp::volume_pool{.kernel = {1, 2, 2}}>, zp::adaptive_avg_pool3d<1>, zp::flatten,
                        zp::linear<"classes", 10>> {};
// [/volume]
// clang-format on

}  // namespace

TEST_CASE("docs: a network over a volume") {
    const zp::float_model<scan> model{};  // zeros: what a linear layer without weights gives
    const auto x = made_up::inputs<scan>(1);
    std::vector<float> y(10, 1.0f);
    const auto memory = std::make_unique<zp::float_model<scan>::workspace>();
    model(x[0], y, *memory);
    CHECK(model.input_shape == zp::shape{32, 32, 4, 16});
    CHECK(y == std::vector<float>(10, 0.0f));
}
