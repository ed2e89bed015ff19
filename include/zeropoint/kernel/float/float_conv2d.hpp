// SPDX-License-Identifier: BSD-3-Clause
// Float convolution and linear layers, for calibration and training: no packing ahead, any geometry.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/geometry/window_span.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// The register tile of the panel algorithm: so many pixels times so many vectors of output channels.
template <class Arch> struct float_tile {
    static constexpr int pixels = vector_size<float, Arch> >= 16 ? 8 : 6;
    static constexpr int vectors = 2;
    static constexpr int channels = vectors * static_cast<int>(vector_size<float, Arch>);
};

enum class float_algorithm { depthwise, panels, dot_products };

/// - depthwise: one filter a channel, vectorized over channels.
/// - panels: weights of a tile's output channels are transposed into scratch, then used for all pixels.
/// - dot_products: vectorized over the depth. Nothing to prepare: for few pixels, and for plain C++.
template <class Arch> constexpr float_algorithm choose_float_algorithm(const conv2d_geometry& g) {
    if (g.group_in() == 1 && g.group_out() == 1 && g.groups > 1) return float_algorithm::depthwise;
    return has_vectors<Arch> && g.out.pixels() >= 8 ? float_algorithm::panels : float_algorithm::dot_products;
}

/// How many floats of scratch conv2d_float() needs.
template <class Arch> constexpr std::size_t conv2d_float_scratch(const conv2d_geometry& g) {
    switch (choose_float_algorithm<Arch>(g)) {
        case float_algorithm::depthwise:
            return static_cast<std::size_t>(g.taps()) * static_cast<std::size_t>(g.in.channels);
        case float_algorithm::panels:  // a panel, and a run of zeros to read in place of padding
            return static_cast<std::size_t>(g.depth()) * static_cast<std::size_t>(float_tile<Arch>::channels) +
                   static_cast<std::size_t>(g.kernel_width) * static_cast<std::size_t>(g.group_in());
        case float_algorithm::dot_products: return 0;
    }
    return 0;
}

/// One call's operands, as conv2d_float() got them.
template <class Arch> struct float_conv2d_arguments {
    const conv2d_geometry& g;
    const float* x;
    const float* weights;
    const float* bias;
    float clamp_min, clamp_max;
    float* y;

    window_span rows(int row) const { return rows_under(g, row, g.dilation_height); }
    window_span columns(int column) const { return columns_under(g, column, g.dilation_width); }
    const float* pixel(int row, int column) const {
        return x + (std::ptrdiff_t{row} * g.in.width + column) * g.in.channels;
    }
    float bias_of(int channel) const { return bias == nullptr ? 0.0f : bias[channel]; }
    float clamped(float sum) const { return std::min(std::max(sum, clamp_min), clamp_max); }
};

/// The taps of one depthwise window that lie inside the input.
struct float_depthwise_window {
    const float* from;  ///< first channel of the first pixel inside
    const float* tap;   ///< first channel of its weights, which lie as [tap][channel]
    int rows, columns;
    std::ptrdiff_t from_row, from_column, tap_row, tap_column;  ///< distances in values

    /// Calls body(first channel of a pixel, first channel of its weights) for every tap.
    template <class Body> [[gnu::always_inline]] void for_each_tap(Body&& body) const noexcept {
        for (int r = 0; r != rows; ++r)
            for (int c = 0; c != columns; ++c)
                body(from + r * from_row + c * from_column, tap + r * tap_row + c * tap_column);
    }
};

/// `Vectors` vectors of channels from channel c on, of `Pixels` neighbouring outputs whose windows are alike: several sums
/// at a time, because one alone would wait for itself, and so that weights are loaded once.
template <class Fitting, int Vectors, int Pixels, class Arch>
[[gnu::always_inline]] inline void float_depthwise_tile(const float_conv2d_arguments<Arch>& a,
                                                        const float_depthwise_window& window, std::size_t c,
                                                        float* y) noexcept {
    using floats = xsimd::batch<float, Fitting>;
    const std::ptrdiff_t pixel = a.g.in.channels, next = a.g.stride_width * pixel;
    std::array<std::array<floats, Vectors>, Pixels> sums;
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
        const floats bias = a.bias == nullptr ? floats(0.0f) : floats::load_unaligned(a.bias + c + v * floats::size);
        unroll<Pixels>([&](auto p) __attribute__((always_inline)) { sums[p][v] = bias; });
    });
    window.for_each_tap([&](const float* from, const float* tap) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            const std::size_t at = c + v * floats::size;
            const floats weight = floats::load_unaligned(tap + at);
            unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
                sums[p][v] = xsimd::fma(floats::load_unaligned(from + p * next + at), weight, sums[p][v]);
            });
        });
    });
    const floats low(a.clamp_min), high(a.clamp_max);
    unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            xsimd::min(xsimd::max(sums[p][v], low), high).store_unaligned(y + p * pixel + c + v * floats::size);
        });
    });
}

/// All channels of `Pixels` neighbouring outputs.
template <class Fitting, int Pixels, class Arch>
[[gnu::always_inline]] inline void float_depthwise_pixels(const float_conv2d_arguments<Arch>& a,
                                                          const float_depthwise_window& window, std::size_t channels,
                                                          float* y) noexcept {
    if constexpr (has_vectors<Fitting>) {
        constexpr std::size_t size = vector_size<float, Fitting>;
        constexpr int vectors = Pixels == 1 ? 4 : 2;
        std::size_t c = 0;
        for (; c + vectors * size <= channels; c += vectors * size)
            float_depthwise_tile<Fitting, vectors, Pixels>(a, window, c, y);
        for (; c < channels; c += size)
            float_depthwise_tile<Fitting, 1, Pixels>(a, window, std::min(c, channels - size), y);
    } else {
        for (std::size_t c = 0; c != channels; ++c) {
            float sum = a.bias_of(static_cast<int>(c));
            window.for_each_tap([&](const float* from, const float* tap) { sum += from[c] * tap[c]; });
            y[c] = a.clamped(sum);
        }
    }
}

/// Depthwise: y[pixel][c] = sum over taps of x * w, where `taps` is room for the weights as [tap][channel].
template <class Arch> void conv2d_float_depthwise(const float_conv2d_arguments<Arch>& a, float* taps) noexcept {
    const conv2d_geometry& g = a.g;
    const auto channels = static_cast<std::size_t>(g.in.channels), area = static_cast<std::size_t>(g.taps());
    for (std::size_t c = 0; c != channels; ++c)
        for (std::size_t tap = 0; tap != area; ++tap) taps[tap * channels + c] = a.weights[c * area + tap];

    const std::ptrdiff_t pixel = g.in.channels, row_of_pixels = pixel * g.in.width;
    with_fitting_vectors<Arch, float>(channels, [&]<class Fitting>() noexcept {
        float* y = a.y;
        for (int row = 0; row != g.out.height; ++row) {
            const window_span rows = a.rows(row);
            for (int column = 0; column != g.out.width;) {
                const window_span columns = a.columns(column);
                constexpr int together = has_vectors<Fitting> ? 4 : 1;
                const bool alike = together > 1 && column + together <= g.out.width &&
                                   columns.count == g.kernel_width &&
                                   a.columns(column + together - 1).count == g.kernel_width;
                const std::ptrdiff_t first_tap = std::ptrdiff_t{rows.skipped} * g.kernel_width + columns.skipped;
                const float_depthwise_window window{a.pixel(rows.first, columns.first),
                                                    taps + first_tap * pixel,
                                                    rows.count,
                                                    columns.count,
                                                    rows.step * row_of_pixels,
                                                    columns.step * pixel,
                                                    g.kernel_width * pixel,
                                                    pixel};
                if (alike) float_depthwise_pixels<Fitting, together>(a, window, channels, y);
                else float_depthwise_pixels<Fitting, 1>(a, window, channels, y);
                column += alike ? together : 1;
                y += (alike ? together : 1) * pixel;
            }
        }
    });
}

/// Dot products: for each pixel, `Outputs` filters at a time share the loads of the input.
template <class Arch, int Outputs>
void conv2d_float_dot_products(const float_conv2d_arguments<Arch>& a, const window_span& rows,
                               const window_span& columns, int channel, float* y) noexcept {
    const conv2d_geometry& g = a.g;
    const auto depth = static_cast<std::size_t>(g.depth());
    const int group = channel / g.group_out();
    // Where columns lie side by side in memory, a row of the window is one run.
    const bool whole_rows = g.groups == 1 && g.dilation_width == 1;
    const int runs = whole_rows ? 1 : columns.count;
    const auto length =
        static_cast<std::size_t>(g.group_in()) * static_cast<std::size_t>(whole_rows ? columns.count : 1);

    std::array<float, Outputs> sums;
    for (int o = 0; o != Outputs; ++o) sums[static_cast<std::size_t>(o)] = a.bias_of(channel + o);
    const auto for_each_run = [&](auto&& body) __attribute__((always_inline)) {
        for (int r = 0; r != rows.count; ++r) {
            for (int c = 0; c != runs; ++c) {
                const int tap = (rows.skipped + r) * g.kernel_width + columns.skipped + c;
                body(a.pixel(rows.first + r * rows.step, columns.first + c * columns.step) + group * g.group_in(),
                     a.weights + static_cast<std::size_t>(channel) * depth +
                         static_cast<std::size_t>(tap * g.group_in()));
            }
        }
    };
    std::size_t vectorized = 0;
    if constexpr (has_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        vectorized = length / floats::size * floats::size;
        std::array<floats, Outputs> partial;
        partial.fill(floats(0.0f));
        for_each_run([&](const float* from, const float* weight) __attribute__((always_inline)) {
            for (std::size_t i = 0; i != vectorized; i += floats::size) {
                const floats value = floats::load_unaligned(from + i);
                unroll<Outputs>([&](auto o) __attribute__((always_inline)) {
                    partial[o] = xsimd::fma(value, floats::load_unaligned(weight + o * depth + i), partial[o]);
                });
            }
        });
        for (std::size_t o = 0; o != Outputs; ++o) sums[o] += xsimd::reduce_add(partial[o]);
    }
    for_each_run([&](const float* from, const float* weight) __attribute__((always_inline)) {
        for (std::size_t i = vectorized; i != length; ++i)
            for (std::size_t o = 0; o != Outputs; ++o) sums[o] += from[i] * weight[o * depth + i];
    });
    for (std::size_t o = 0; o != Outputs; ++o) y[o] = a.clamped(sums[o]);
}

template <class Arch> void conv2d_float_dot_products(const float_conv2d_arguments<Arch>& a) noexcept {
    constexpr int block = 8;
    float* y = a.y;
    for (int row = 0; row != a.g.out.height; ++row) {
        const window_span rows = a.rows(row);
        for (int column = 0; column != a.g.out.width; ++column) {
            const window_span columns = a.columns(column);
            for (int group = 0; group != a.g.groups; ++group) {
                int channel = group * a.g.group_out();
                const int end = channel + a.g.group_out();
                for (; channel + block <= end; channel += block, y += block)
                    conv2d_float_dot_products<Arch, block>(a, rows, columns, channel, y);
                for (; channel != end; ++channel, ++y) conv2d_float_dot_products<Arch, 1>(a, rows, columns, channel, y);
            }
        }
    }
}

/// panel[k][j] = weights[j][k] for k < depth, j < channels; zero for j in [channels, tile).
template <class Arch>
void transpose_panel(const float* weights, std::size_t depth, std::size_t channels, float* panel) noexcept {
    using floats = xsimd::batch<float, Arch>;
    constexpr std::size_t size = floats::size, tile = static_cast<std::size_t>(float_tile<Arch>::channels);
    for (std::size_t first = 0; first != tile; first += size) {
        const std::size_t present = std::min(channels - std::min(first, channels), size);
        std::size_t k = 0;
        if (present == size) {
            for (; k + size <= depth; k += size) {
                std::array<floats, size> square;
                for (std::size_t j = 0; j != size; ++j)
                    square[j] = floats::load_unaligned(weights + (first + j) * depth + k);
                xsimd::transpose(square.data(), square.data() + size);
                for (std::size_t j = 0; j != size; ++j) square[j].store_unaligned(panel + (k + j) * tile + first);
            }
        }
        for (; k != depth; ++k)
            for (std::size_t j = 0; j != size; ++j)
                panel[k * tile + first + j] = j < present ? weights[(first + j) * depth + k] : 0.0f;
    }
}

/// One register tile: outputs [first, first + count) of the pixels, in row order, times the channels of one panel.
template <class Arch>
void conv2d_float_tile(const float_conv2d_arguments<Arch>& a, const float* panel, const float* zeros, int first,
                       int count, int channel, int channels) noexcept {
    using floats = xsimd::batch<float, Arch>;
    using tile = float_tile<Arch>;
    constexpr std::size_t size = floats::size;
    const conv2d_geometry& g = a.g;
    const int group_offset = channel / g.group_out() * g.group_in();

    int rows[tile::pixels], columns[tile::pixels];  // where each pixel's window begins
    bool whole_rows = g.groups == 1 && g.dilation_width == 1;
    for (int p = 0; p != tile::pixels; ++p) {  // behind the last pixel, the last one once more
        const int pixel = first + std::min(p, count - 1);
        rows[p] = pixel / g.out.width * g.stride_height - g.padding_top;
        columns[p] = pixel % g.out.width * g.stride_width - g.padding_left;
        whole_rows = whole_rows && columns[p] >= 0 && columns[p] + g.kernel_width <= g.in.width;
    }
    std::array<float, tile::channels> bias{};
    for (int j = 0; j != channels; ++j) bias[static_cast<std::size_t>(j)] = a.bias_of(channel + j);
    std::array<std::array<floats, tile::vectors>, tile::pixels> sums;
    unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
        unroll<tile::vectors>([&](auto v) __attribute__((always_inline)) {
            sums[p][v] = floats::load_unaligned(bias.data() + v * size);
        });
    });

    // A run is as much of the window as lies side by side in memory for every pixel: a row of it, or one tap.
    const int runs = whole_rows ? 1 : g.kernel_width;
    const int length = whole_rows ? g.kernel_width * g.in.channels : g.group_in();
    for (int ky = 0; ky != g.kernel_height; ++ky) {
        for (int kx = 0; kx != runs; ++kx) {
            std::array<const float*, tile::pixels> from;
            for (std::size_t p = 0; p != tile::pixels; ++p) {
                const int row = rows[p] + ky * g.dilation_height, column = columns[p] + kx * g.dilation_width;
                const bool inside = row >= 0 && row < g.in.height && column >= 0 && column < g.in.width;
                from[p] = inside ? a.pixel(row, column) + group_offset : zeros;
            }
            for (int i = 0; i != length; ++i, panel += tile::channels) {
                std::array<floats, tile::vectors> weights;
                unroll<tile::vectors>([&](auto v) __attribute__((always_inline)) {
                    weights[v] = floats::load_unaligned(panel + v * size);
                });
                unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
                    const floats value(from[p][i]);
                    unroll<tile::vectors>([&](auto v) __attribute__((always_inline)) {
                        sums[p][v] = xsimd::fma(value, weights[v], sums[p][v]);
                    });
                });
            }
        }
    }

    const floats low(a.clamp_min), high(a.clamp_max);
    std::array<float, tile::channels> results;
    unroll<tile::pixels>([&](auto p) __attribute__((always_inline)) {
        if (p >= count) return;
        float* y = a.y + std::ptrdiff_t{first + p} * g.out.channels + channel;
        float* to = channels == tile::channels ? y : results.data();
        unroll<tile::vectors>([&](auto v) __attribute__((always_inline)) {
            xsimd::min(xsimd::max(sums[p][v], low), high).store_unaligned(to + v * size);
        });
        if (to != y) std::copy_n(to, channels, y);
    });
}

template <class Arch> void conv2d_float_panels(const float_conv2d_arguments<Arch>& a, float* scratch) noexcept {
    using tile = float_tile<Arch>;
    const conv2d_geometry& g = a.g;
    const auto depth = static_cast<std::size_t>(g.depth());
    float* panel = scratch;
    float* zeros = scratch + depth * static_cast<std::size_t>(tile::channels);
    std::fill_n(zeros, g.kernel_width * g.group_in(), 0.0f);
    for (int group = 0; group != g.groups; ++group) {
        for (int j = 0; j < g.group_out(); j += tile::channels) {
            const int channel = group * g.group_out() + j, channels = std::min(g.group_out() - j, tile::channels);
            transpose_panel<Arch>(a.weights + static_cast<std::size_t>(channel) * depth, depth,
                                  static_cast<std::size_t>(channels), panel);
            for (int first = 0; first < g.out.pixels(); first += tile::pixels)
                conv2d_float_tile<Arch>(a, panel, zeros, first, std::min(g.out.pixels() - first, tile::pixels), channel,
                                        channels);
        }
    }
}

/// y[row][column][o] = clamp(bias[o] + sum over the window of x * w, clamp_min, clamp_max) for one NHWC image x and
/// weights [out_channels][kernel_height][kernel_width][in_channels / groups]; the padding is zero. A linear layer is
/// 1x1 (see conv2d_geometry). `bias` may be null: zero. No clamp: -infinity and infinity. `scratch` has
/// conv2d_float_scratch<Arch>(g) floats. x, y and scratch do not overlap. Sums are rounded in an order that depends on
/// Arch.
template <class Arch>
void conv2d_float(const conv2d_geometry& g, const float* x, const float* weights, const float* bias, float clamp_min,
                  float clamp_max, float* y, float* scratch) noexcept {
    const float_conv2d_arguments<Arch> arguments{g, x, weights, bias, clamp_min, clamp_max, y};
    switch (choose_float_algorithm<Arch>(g)) {
        case float_algorithm::depthwise: conv2d_float_depthwise<Arch>(arguments, scratch); break;
        case float_algorithm::panels:
            if constexpr (has_vectors<Arch>) conv2d_float_panels<Arch>(arguments, scratch);
            break;
        case float_algorithm::dot_products: conv2d_float_dot_products<Arch>(arguments); break;
    }
}

}  // namespace zp::inline v0::kernel
