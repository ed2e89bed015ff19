// SPDX-License-Identifier: BSD-3-Clause
// What most cases include, precompiled: a case names what it needs itself.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/stateful.hpp>
#include <zeropoint/workflow/streaming.hpp>
#include <zeropoint/zeropoint.hpp>

/// What a program does with a model of 8x8x3 values and ten outputs, and a qconfig: a mistake in either is told once, not by each of these.
template <class Net, class Config> void whole_program() {
    const std::vector<std::vector<float>> images(64, std::vector<float>(8 * 8 * 3));
    const auto trained = zp::load<Net>("net.safetensors");
    const auto calibrated = zp::calibrate(zp::prepare<Config>(zp::fuse(trained)), images);
    zp::save(zp::convert(calibrated), "int8.safetensors");
    using int8_model = zp::quantized<Net, Config>;
    const int8_model model = zp::load<int8_model>("int8.safetensors");
    static typename int8_model::workspace memory;
    std::array<float, 10> scores{};
    model(images[0], scores, memory);
}
