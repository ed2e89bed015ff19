// SPDX-License-Identifier: BSD-3-Clause
// The activation that docs/workflow.md writes: a user's function through every stage, and through a file.
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "network.hpp"

// clang-format off
// [own-activation]
template <int Tenths> struct snake {  // x + sin(ax)^2 / a, of audio networks
    static constexpr const char* kind = "snake";
    static constexpr float constants[] = {Tenths / 10.0f};  // what tells snake<5> from snake<10>
    float operator()(float x) const { return x + std::pow(std::sin(constants[0] * x), 2.0f) / constants[0]; }
};
struct with_snake : zp::model<zp::input<1, 8, 1>,
    zp::conv2d<"conv", zp::conv{.out_channels = 4, .kernel = {1, 3}}>, zp::activation<snake<5>>,
    zp::avg_pool2d<zp::pool{.kernel = {1, 2}}>, zp::activation<snake<20>>, zp::flatten, zp::linear<"fc", 2>, zp::silu> {};
// [/own-activation]
// clang-format on

TEST_CASE("workflow: an activation of the user's") {
    const auto trained = made_up::network<with_snake>();
    const auto inputs = made_up::inputs<with_snake>(40, 6, -2, 2);
    // [own-activation-stages]
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<my_qconfig>(zp::fuse(trained)), inputs));
    std::string table = zp::to_string(int8);  // "conv2d + snake(0.5)", "snake(2)", "linear + silu"
    // [/own-activation-stages]
    for (const char* operation : {"conv2d + snake(0.5)", "  snake(2)", "linear + silu"}) {
        CAPTURE(table);
        CHECK(table.find(operation) != table.npos);
    }
    const auto loaded = zp::load<zp::quantized<with_snake, my_qconfig>>(zp::to_bytes(int8), "with_snake");
    double noise = 0, signal = 0;
    for (const auto& x : inputs) {
        std::vector<float> exact(2), y(2), again(2);
        trained(x, exact);
        int8(x, y);
        loaded(x, again);
        CHECK(y == again);
        for (std::size_t i = 0; i != 2; ++i) {
            noise += std::pow(double{y[i]} - double{exact[i]}, 2);
            signal += std::pow(double{exact[i]}, 2);
        }
    }
    CHECK(10 * std::log10(signal / noise) > 25);  // dB
}
