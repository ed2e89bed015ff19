// SPDX-License-Identifier: BSD-3-Clause
// Transposed convolutions over the samples of a mini-batch, and the gradients of their inputs and weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/geometry/conv_transpose2d.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>
#include <zeropoint/kernel/gradient/outer_product.hpp>
#include <zeropoint/kernel/gradient/window_product.hpp>

// Weights are [out_channels][kernel_height][kernel_width][in_channels / groups]. The gradient of a bias is
// add_channel_sums() of dy.

namespace zp::inline v0::kernel {

/// The convolution that goes from the outputs of a transposed one to its inputs.
constexpr conv2d_geometry untransposed_of(const conv_transpose2d_geometry& g) {
    return {g.out,         g.in,           g.kernel_height,   g.kernel_width,   g.stride_height, g.stride_width,
            g.padding_top, g.padding_left, g.dilation_height, g.dilation_width, g.groups};
}

/// Calls visit(convolution, what packs its panels) for each phase. A phase without taps multiplies with zeros.
template <class Arch> constexpr auto transposed_windows(const conv_transpose2d_geometry& g, const float* weights) {
    return [&g, weights](auto&& visit) {
        for_each_phase_window(g, [&](const transposed_phase& phase, const product_window& window) {
            visit(window, [&g, &phase, weights](int channel, int channels, float* panel) {
                constexpr int tile = product_tile<Arch>::channels;
                for (int tap = 0; tap != phase.window.taps(); ++tap) {
                    const std::ptrdiff_t at = phase.has_taps() ? phase.tap(g, tap) : 0;
                    for (int i = 0; i != g.group_in(); ++i, panel += tile)
                        for (int j = 0; j != tile; ++j)
                            panel[j] = j < channels && phase.has_taps()
                                           ? weights[(std::ptrdiff_t{channel + j} * g.taps() + at) * g.group_in() + i]
                                           : 0.0f;
                }
            });
        });
    };
}

template <class Arch> constexpr std::size_t conv_transpose2d_batch_scratch(const conv_transpose2d_geometry& g) {
    return multiply_windows_scratch<Arch>(g.in, transposed_windows<Arch>(g, nullptr));
}

/// y = clamp(bias + sum x * w, low, high) for each of `samples` images, as conv_transpose2d_float() of each. A null bias is
/// zeros. `scratch` has conv_transpose2d_batch_scratch<Arch>(g) floats; nothing overlaps.
template <class Arch>
void conv_transpose2d_batch(const conv_transpose2d_geometry& g, int samples, const_float_batch x, const float* weights,
                            const float* bias, float low, float high, float_batch y, float* scratch) noexcept {
    multiply_windows<Arch>(g.in, samples, x, {bias, low, high}, y, scratch, transposed_windows<Arch>(g, weights));
}

/// Calls visit(the convolution, what packs its panels), whose rows lie side by side in `weights`.
template <class Arch> constexpr auto untransposed_window(const conv2d_geometry& g, const float* weights) {
    return [&g, weights](auto&& visit) {
        visit(product_window(g), [&g, weights](int channel, int channels, float* panel) {
            constexpr int tile = product_tile<Arch>::channels;
            const int group = channel / g.group_out(), first = channel % g.group_out();
            for (int tap = 0; tap != g.taps(); ++tap) {
                for (int o = 0; o != g.group_in(); ++o, panel += tile) {
                    const std::ptrdiff_t filter = std::ptrdiff_t{group} * g.group_in() + o;
                    std::fill_n(panel, tile, 0.0f);
                    std::copy_n(weights + (filter * g.taps() + tap) * g.group_out() + first, channels, panel);
                }
            }
        });
    };
}

template <class Arch>
constexpr std::size_t conv_transpose2d_input_gradient_scratch(const conv_transpose2d_geometry& g) {
    const conv2d_geometry window = untransposed_of(g);
    return multiply_windows_scratch<Arch>(g.out, untransposed_window<Arch>(window, nullptr));
}

/// dx = the gradient of a transposed convolution by its input: a convolution of dy with the same weights. `scratch` has
/// conv_transpose2d_input_gradient_scratch<Arch>(g) floats; nothing overlaps.
template <class Arch>
void conv_transpose2d_input_gradient(const conv_transpose2d_geometry& g, int samples, const_float_batch dy,
                                     const float* weights, float_batch dx, float* scratch) noexcept {
    constexpr float infinite = infinity;
    const conv2d_geometry window = untransposed_of(g);
    multiply_windows<Arch>(g.out, samples, dy, {nullptr, -infinite, infinite}, dx, scratch,
                           untransposed_window<Arch>(window, weights));
}

template <class Arch>
constexpr std::size_t conv_transpose2d_weight_gradient_scratch(const conv_transpose2d_geometry& g) {
    constexpr int size = outer_tile<Arch>::size;
    if (g.group_in() >= size) return 0;
    const pixel_strip strip = strip_of(untransposed_of(g));
    return static_cast<std::size_t>(strip.samples) * static_cast<std::size_t>(strip.rows) *
           static_cast<std::size_t>(g.in.width) * static_cast<std::size_t>(size);
}

/// dw[o][tap][i] += sum over samples and inputs of x[i] * dy[o], the value under that tap, in the order of samples, rows
/// and columns of x. `scratch` has conv_transpose2d_weight_gradient_scratch<Arch>(g) floats; nothing overlaps.
template <class Arch>
void conv_transpose2d_weight_gradient(const conv_transpose2d_geometry& g, int samples, const_float_batch x,
                                      const_float_batch dy, float* dw, float* scratch) noexcept {
    constexpr int size = outer_tile<Arch>::size;
    const conv2d_geometry window = untransposed_of(g);
    const std::ptrdiff_t in = g.in.channels, in_row = in * g.in.width, out = g.out.channels,
                         out_row = out * g.out.width, depth = g.depth();
    const bool copies = g.group_in() < size;
    for_each_strip(window, samples, [&](int sample, int count, int first_row, int rows) {
        for (int group = 0; group != g.groups; ++group) {
            // The channels of a group, in place or side by side with zeros behind them: row first_row of the first sample.
            pixel_grid inputs{x[sample] + first_row * in_row + group * g.group_in(), in, in_row, x.stride};
            if (copies) {
                float* to = scratch;
                for (int i = 0; i != count; ++i)
                    for (std::ptrdiff_t pixel = 0; pixel != std::ptrdiff_t{rows} * g.in.width; ++pixel)
                        to = std::fill_n(std::copy_n(inputs.first + i * x.stride + pixel * in, g.group_in(), to),
                                         size - g.group_in(), 0.0f);
                inputs = {scratch, size, std::ptrdiff_t{size} * g.in.width, std::ptrdiff_t{size} * g.in.width * rows};
            }
            for (int tap = 0; tap != g.taps(); ++tap) {
                const int down = tap / g.kernel_width * g.dilation_height - g.padding_top;
                const int right = tap % g.kernel_width * g.dilation_width - g.padding_left;
                const tap_span reached = outputs_of_tap(down, g.stride_height, g.out.height, g.in.height);
                const tap_span columns = outputs_of_tap(right, g.stride_width, g.out.width, g.in.width);
                const int begin = std::max(reached.first, first_row),
                          end = std::min(reached.first + reached.count, first_row + rows);
                if (begin >= end || columns.count == 0) continue;
                pixel_grid from = inputs;
                from.first += (begin - first_row) * inputs.row + columns.first * inputs.column;
                const std::ptrdiff_t to =
                    (begin * g.stride_height + down) * out_row + (columns.first * g.stride_width + right) * out;
                add_outer_products<Arch>({count, end - begin, columns.count},
                                         {dy[sample] + to + group * g.group_out(), g.stride_width * out,
                                          g.stride_height * out_row, dy.stride},
                                         from, g.group_out(), g.group_in(), copies,
                                         dw + group * g.group_out() * depth + tap * g.group_in(), depth);
            }
        }
    });
}

}  // namespace zp::inline v0::kernel
