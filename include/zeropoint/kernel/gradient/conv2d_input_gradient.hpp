// SPDX-License-Identifier: BSD-3-Clause
// The gradient of a convolution's input, and of a linear layer's: the transposed convolution of the output's gradient.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/float/float_conv_transpose2d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose2d.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/window_product.hpp>

namespace zp::inline v0::kernel {

/// The transposed convolution that goes from the outputs of a convolution to its inputs.
constexpr conv_transpose2d_geometry transposed_of(const conv2d_geometry& g) {
    conv_transpose2d_geometry t = as_transposed(g);
    t.in = g.out;
    t.out = g.in;
    return t;
}

/// Calls visit(phase, its product_window) for the phases that have outputs.
template <class Visit> constexpr void for_each_phase_window(const conv_transpose2d_geometry& g, Visit&& visit) {
    for_each_phase(g, [&](const transposed_phase& phase) {
        if (!phase.has_outputs()) return;
        const std::ptrdiff_t pixel = g.out.channels, row = pixel * g.out.width;
        visit(phase, product_window(phase.window, phase.row * row + phase.column * pixel, g.stride_height * row,
                                    g.stride_width * pixel));
    });
}

/// Calls visit(convolution, what packs its panels) for each phase of the gradient. The depth of a phase is [tap][output
/// channel of the group], and a row of its panel lies side by side in `weights`. Of a matrix several panels are packed
/// together, because its rows lie far apart in memory. A phase without taps multiplies with zeros.
template <class Arch> constexpr auto input_gradient_windows(const conv2d_geometry& g, const float* weights) {
    return [&g, weights](auto&& visit) {
        const conv_transpose2d_geometry t = transposed_of(g);
        for_each_phase_window(t, [&](const transposed_phase& phase, product_window window) {
            if (g.taps() == 1) window.together = 4;
            visit(window, [&g, &t, &phase, weights](int channel, int channels, float* panel) {
                constexpr int tile = product_tile<Arch>::channels;
                const int group = channel / g.group_in(), first = channel % g.group_in();
                const std::ptrdiff_t each = std::ptrdiff_t{phase.window.depth()} * tile;
                for (int tap = 0; tap != phase.window.taps(); ++tap) {
                    for (int o = 0; o != g.group_out(); ++o, panel += tile) {
                        const std::ptrdiff_t filter = std::ptrdiff_t{group} * g.group_out() + o;
                        const float* const from =
                            weights + (filter * g.taps() + (phase.has_taps() ? phase.tap(t, tap) : 0)) * g.group_in() +
                            first;
                        for (int j = 0; j < channels; j += tile) {
                            float* const to = panel + j / tile * each;
                            const int width = phase.has_taps() ? std::min(channels - j, tile) : 0;
                            if (width == tile) copy_floats<tile>(from + j, to);
                            else std::fill(std::copy_n(from + j, width, to), to + tile, 0.0f);
                        }
                    }
                }
            });
        });
    };
}

/// Of stride 1: the convolution of dy with the kernels turned around.
constexpr conv2d_geometry turned_convolution(const conv2d_geometry& g) {
    return transposed_phase(transposed_of(g), 0, 0).window;
}
template <class Arch> constexpr bool takes_tiles_back(const conv2d_geometry& g) {
    return g.stride_height == 1 && g.stride_width == 1 && float_winograd<Arch>::takes(turned_convolution(g));
}

/// How many floats of scratch conv2d_input_gradient() needs.
template <class Arch> constexpr std::size_t conv2d_input_gradient_scratch(const conv2d_geometry& g) {
    if (pairs_channels(g) && g.stride_height == 1 && g.stride_width == 1)
        return static_cast<std::size_t>(g.out.channels) * static_cast<std::size_t>(g.taps()) +
               conv2d_float_scratch<Arch>(turned_convolution(g));
    if (pairs_channels(g)) return conv_transpose2d_float_scratch<Arch>(transposed_of(g));
    if (takes_tiles_back<Arch>(g)) return float_winograd<Arch>(turned_convolution(g)).product_scratch();
    return multiply_windows_scratch<Arch>(g.out, input_gradient_windows<Arch>(g, nullptr));
}

/// dx[sample][row][column][i] = sum of dy * w over the outputs whose windows hold that input: of conv2d_batch() without bounds.
/// dx has the extents of g.in, dy of g.out. `scratch` has conv2d_input_gradient_scratch<Arch>(g) floats; nothing overlaps.
/// A sum runs over taps and then output channels, or is of a tile; its bits do not depend on the samples beside it.
template <class Arch>
void conv2d_input_gradient(const conv2d_geometry& g, int samples, const_float_batch dy, const float* weights,
                           float_batch dx, float* scratch) noexcept {
    constexpr float infinite = infinity;
    if (pairs_channels(g) && g.stride_height == 1 && g.stride_width == 1) {
        const conv2d_geometry window = turned_convolution(g);
        const std::ptrdiff_t taps = g.taps();
        for (std::ptrdiff_t i = 0; i != g.out.channels * taps; ++i)
            scratch[i] = weights[i / taps * taps + (taps - 1 - i % taps)];
        for (int i = 0; i != samples; ++i)
            conv2d_float<Arch>(window, dy[i], scratch, nullptr, -infinite, infinite, dx[i],
                               scratch + g.out.channels * taps);
        return;
    }
    if (pairs_channels(g)) {
        for (int i = 0; i != samples; ++i)
            conv_transpose2d_float<Arch>(transposed_of(g), dy[i], weights, nullptr, -infinite, infinite, dx[i],
                                         scratch);
        return;
    }
    if (takes_tiles_back<Arch>(g)) {
        multiply_tiles<Arch>(
            turned_convolution(g), samples, dy, {nullptr, -infinite, infinite}, dx, scratch,
            [&](float* filters) { transform_taps<Arch>(weights, g.out.channels, g.in.channels, true, filters); },
            [&](const float* filters, int channel, int channels, float* panel) {
                constexpr int tile = product_tile<Arch>::channels;
                for (int o = 0; o != g.out.channels; ++o, filters += g.in.channels, panel += tile) {
                    if (channels == tile) copy_floats<tile>(filters + channel, panel);
                    else std::fill(std::copy_n(filters + channel, channels, panel), panel + tile, 0.0f);
                }
            });
        return;
    }
    multiply_windows<Arch>(g.out, samples, dy, {nullptr, -infinite, infinite}, dx, scratch,
                           input_gradient_windows<Arch>(g, weights));
}

}  // namespace zp::inline v0::kernel
