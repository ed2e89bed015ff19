// SPDX-License-Identifier: BSD-3-Clause
// Float transposed 2-D convolution, for calibration and training: each phase as an ordinary one.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/float/float_conv2d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose2d.hpp>

namespace zp::inline v0::kernel {

/// Where the parts of the scratch lie, in floats: the filters of a phase, its outputs, what its convolution needs.
template <class Arch> struct conv_transpose2d_float_plan {
    std::size_t outputs = 0, convolution = 0, size = 0;

    constexpr explicit conv_transpose2d_float_plan(const conv_transpose2d_geometry& g) {
        std::size_t most_outputs = 0, most_needed = 0;
        for_each_phase(g, [&](const transposed_phase& phase) {
            const auto channels = static_cast<std::size_t>(g.out.channels);
            outputs = std::max(outputs, channels * static_cast<std::size_t>(phase.window.depth()));
            most_outputs = std::max(most_outputs, static_cast<std::size_t>(phase.window.out.size()));
            most_needed = std::max(most_needed, conv2d_float_scratch<Arch>(phase.window));
        });
        convolution = outputs + most_outputs;
        size = convolution + most_needed;
    }
};

/// How many floats of scratch conv_transpose2d_float() needs.
template <class Arch> constexpr std::size_t conv_transpose2d_float_scratch(const conv_transpose2d_geometry& g) {
    return conv_transpose2d_float_plan<Arch>(g).size;
}

/// y = clamp(bias + sum x * w, clamp_min, clamp_max) for one NHWC image x and weights
/// [out_channels][kernel_height][kernel_width][in_channels / groups], the sum being that of
/// reference::conv_transpose2d. `bias` may be null: zero. No clamp: -infinity and infinity. `scratch` has
/// conv_transpose2d_float_scratch<Arch>(g) floats. x, y and scratch do not overlap. Sums are rounded in an order that
/// depends on Arch.
template <class Arch>
void conv_transpose2d_float(const conv_transpose2d_geometry& g, const float* x, const float* weights, const float* bias,
                            float clamp_min, float clamp_max, float* y, float* scratch) noexcept {
    const conv_transpose2d_float_plan<Arch> plan(g);
    float* outputs = scratch + plan.outputs;
    const std::ptrdiff_t channels = g.out.channels;
    for_each_phase(g, [&](const transposed_phase& phase) {
        if (!phase.has_outputs()) return;
        const conv2d_geometry& window = phase.window;
        if (phase.has_taps()) {
            float* filter = scratch;
            for (int channel = 0; channel != g.out.channels; ++channel)
                for (int tap = 0; tap != window.taps(); ++tap, filter += g.group_in())
                    std::copy_n(weights + (std::ptrdiff_t{channel} * g.taps() + phase.tap(g, tap)) * g.group_in(),
                                g.group_in(), filter);
            conv2d_float<Arch>(window, x, scratch, bias, clamp_min, clamp_max, outputs, scratch + plan.convolution);
        } else {
            for (std::ptrdiff_t i = 0; i != window.out.size(); ++i)
                outputs[i] = std::clamp(bias == nullptr ? 0.0f : bias[i % channels], clamp_min, clamp_max);
        }
        const float* from = outputs;
        for (int row = 0; row != window.out.height; ++row) {
            float* to = y + (std::ptrdiff_t{phase.row + row * g.stride_height} * g.out.width + phase.column) * channels;
            for (int column = 0; column != window.out.width; ++column, from += channels)
                std::copy_n(from, channels, to + column * g.stride_width * channels);
        }
    });
}

}  // namespace zp::inline v0::kernel
