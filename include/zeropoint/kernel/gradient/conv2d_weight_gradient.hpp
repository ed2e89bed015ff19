// SPDX-License-Identifier: BSD-3-Clause
// The gradients of a convolution's weights and bias, and of a linear layer's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/geometry/window_span.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/float_winograd.hpp>
#include <zeropoint/kernel/gradient/outer_product.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// A weight's gradient is the sum of dy * x over the pixels of all samples that its tap reaches: an outer product a pixel, of
// the channels of dy with those of x. Register tiles of the weights stay while some rows of pixels, which fit into the
// first-level cache, go by. Where a group has fewer channels than a vector, windows are copied side by side first.

namespace zp::inline v0::kernel {

/// Along one axis, the outputs [first, first + count) whose tap at `offset` (tap * dilation - padding) lies in the input.
struct tap_span {
    int first = 0, count = 0;
};
constexpr tap_span outputs_of_tap(int offset, int stride, int extent, int outputs) {
    const int first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int end = offset >= extent ? 0 : std::min((extent - 1 - offset) / stride + 1, outputs);
    return {first, std::max(end - first, 0)};
}

/// How the pixels of a mini-batch are cut: `samples` whole images, or of one image `rows` rows of outputs.
struct pixel_strip {
    int samples = 1, rows = 1;
};
constexpr pixel_strip strip_of(const conv2d_geometry& g) {
    // So many pixels that loading and storing a tile costs little, and the values of a vector or two of their channels fit.
    constexpr int enough = 128;
    const int pixels = g.out.height * g.out.width;
    if (pixels <= enough) return {std::max(enough / std::max(pixels, 1), 1), g.out.height};
    return {1, std::clamp((enough + g.out.width - 1) / g.out.width, 1, g.out.height)};
}

/// Calls body(first sample, samples, first row of outputs, rows), in order.
template <class Body> void for_each_strip(const conv2d_geometry& g, int samples, Body&& body) noexcept {
    const pixel_strip strip = strip_of(g);
    for (int sample = 0; sample < samples; sample += strip.samples)
        for (int row = 0; row < g.out.height; row += strip.rows)
            body(sample, std::min(strip.samples, samples - sample), row, std::min(strip.rows, g.out.height - row));
}

/// The depth of copied windows: whole vectors.
template <class Arch> constexpr int copied_depth(const conv2d_geometry& g) {
    constexpr int size = static_cast<int>(vector_size<float, Arch>);
    return (g.depth() + size - 1) / size * size;
}
template <class Arch> constexpr bool copies_windows(const conv2d_geometry& g) {
    return g.group_in() < static_cast<int>(vector_size<float, Arch>);
}

/// Whether pixels are rows of matrices that are so large that tiles of them are copied first.
constexpr bool is_large_product(const conv2d_geometry& g) {
    return g.taps() == 1 && g.groups == 1 && g.stride_height == 1 && g.stride_width == 1 && !g.has_padding() &&
           g.out.channels >= 32 && g.in.channels >= 64;
}

/// dw of a strip, whose x is read in place: tap by tap, over the pixels that it reaches.
template <class Arch>
void add_strip_in_place(const conv2d_geometry& g, int sample, int samples, int first_row, int rows,
                        const const_float_batch& x, const const_float_batch& dy, float* dw) noexcept {
    const std::ptrdiff_t in = g.in.channels, in_row = in * g.in.width;
    const std::ptrdiff_t out = g.out.channels, out_row = out * g.out.width, depth = g.depth();
    for (int ky = 0; ky != g.kernel_height; ++ky) {
        const int down = ky * g.dilation_height - g.padding_top;
        const tap_span reached = outputs_of_tap(down, g.stride_height, g.in.height, g.out.height);
        const int begin = std::max(reached.first, first_row),
                  end = std::min(reached.first + reached.count, first_row + rows);
        if (begin >= end) continue;
        for (int kx = 0; kx != g.kernel_width; ++kx) {
            const int right = kx * g.dilation_width - g.padding_left;
            const tap_span columns = outputs_of_tap(right, g.stride_width, g.in.width, g.out.width);
            if (columns.count == 0) continue;
            const pixel_extents extents{samples, end - begin, columns.count};
            const std::ptrdiff_t from =
                (begin * g.stride_height + down) * in_row + (columns.first * g.stride_width + right) * in;
            for (int group = 0; group != g.groups; ++group) {
                const std::ptrdiff_t to = begin * out_row + columns.first * out + group * g.group_out();
                add_outer_products<Arch>(
                    extents, {dy[sample] + to, out, out_row, dy.stride},
                    {x[sample] + from + group * g.group_in(), g.stride_width * in, g.stride_height * in_row, x.stride},
                    g.group_out(), g.group_in(), false,
                    dw + group * g.group_out() * depth + (ky * g.kernel_width + kx) * g.group_in(), depth);
            }
        }
    }
}

/// The windows of a row of outputs, [column][copied_depth], zeros where there is no input; what is behind the depth
/// stays. `x` is a group's first channel of an image.
template <class Arch> void copy_windows(const conv2d_geometry& g, const float* x, int row, float* to) noexcept {
    constexpr int size = static_cast<int>(vector_size<float, Arch>);
    const int channels = g.group_in(), run = g.kernel_width * channels, padded = copied_depth<Arch>(g),
              width = g.out.width;
    // Columns whose windows lie in the image, side by side in memory.
    int begin = 0, end = 0;
    if (g.groups == 1 && g.dilation_width == 1) {
        const tap_span first = outputs_of_tap(-g.padding_left, g.stride_width, g.in.width, width),
                       last = outputs_of_tap(g.kernel_width - 1 - g.padding_left, g.stride_width, g.in.width, width);
        begin = std::min(first.first, width);
        end = std::max(begin, std::min(first.first + first.count, last.first + last.count));
    }
    for (int ky = 0; ky != g.kernel_height; ++ky, to += run) {
        const int y = row * g.stride_height - g.padding_top + ky * g.dilation_height;
        const float* const from = x + std::ptrdiff_t{y} * g.in.width * g.in.channels;
        const auto copy_taps = [&](int column) {
            float* window = to + column * padded;
            for (int kx = 0; kx != g.kernel_width; ++kx, window += channels) {
                const int at = column * g.stride_width - g.padding_left + kx * g.dilation_width;
                const bool inside = y >= 0 && y < g.in.height && at >= 0 && at < g.in.width;
                for (int c = 0; c != channels; ++c) window[c] = inside ? from[at * g.in.channels + c] : 0.0f;
            }
        };
        if (y < 0 || y >= g.in.height) {
            for (int column = 0; column != width; ++column) std::fill_n(to + column * padded, run, 0.0f);
            continue;
        }
        for (int column = 0; column != begin; ++column) copy_taps(column);
        const std::ptrdiff_t step = std::ptrdiff_t{g.stride_width} * g.in.channels;
        const float* side_by_side = from + (std::ptrdiff_t{begin} * g.stride_width - g.padding_left) * g.in.channels;
        for (int column = begin; column < end; ++column, side_by_side += step) {
            float* const window = to + column * padded;
            if (has_vectors<Arch> && run >= size) {
                int i = 0;
                for (; i + size < run; i += size) store_number(load_number<number<Arch>>(side_by_side + i), window + i);
                store_number(load_number<number<Arch>>(side_by_side + run - size), window + run - size);
            } else {
                for (int i = 0; i != run; ++i) window[i] = side_by_side[i];
            }
        }
        for (int column = end; column < width; ++column) copy_taps(column);
    }
}

/// dw of a strip whose windows are copied, row by row of outputs: of one group, [pixel][copied_depth].
template <class Arch>
void add_strip_of_copies(const conv2d_geometry& g, int sample, int samples, int first_row, int rows,
                         const const_float_batch& x, const const_float_batch& dy, float* dw, float* copies) noexcept {
    const std::ptrdiff_t out = g.out.channels, depth = g.depth();
    const int padded = copied_depth<Arch>(g), channels = g.group_in();
    const std::ptrdiff_t pixels = std::ptrdiff_t{rows} * g.out.width;
    for (int group = 0; group != g.groups; ++group) {
        float* to = copies;
        for (int i = sample; i != sample + samples; ++i)
            for (int row = first_row; row != first_row + rows; ++row, to += std::ptrdiff_t{padded} * g.out.width)
                copy_windows<Arch>(g, x[i] + group * channels, row, to);
        add_outer_products<Arch>({samples, rows, g.out.width},
                                 {dy[sample] + std::ptrdiff_t{first_row} * g.out.width * out + group * g.group_out(),
                                  out, out * g.out.width, dy.stride},
                                 {copies, padded, std::ptrdiff_t{padded} * g.out.width, padded * pixels}, g.group_out(),
                                 g.depth(), true, dw + group * g.group_out() * depth, depth);
    }
}

/// `Taps` taps of one row of a kernel, for a vector or two of channels: sums[tap][channel] += dy * x over an image.
/// Columns that all of the taps reach are taken together, then those that only some reach.
template <class Arch, int Taps, int Vectors, class Number>
[[gnu::always_inline]] inline void add_depthwise_taps(const conv2d_geometry& g, int ky, int kx, std::ptrdiff_t c,
                                                      const float* x, const float* dy, float* sums) noexcept {
    constexpr std::ptrdiff_t size = sizeof(Number) / sizeof(float);
    const std::ptrdiff_t pixel = g.in.channels, next = g.stride_width * pixel;
    const int down = ky * g.dilation_height - g.padding_top;
    const tap_span rows = outputs_of_tap(down, g.stride_height, g.in.height, g.out.height);
    tap_span columns[Taps];
    int begin = 0, end = g.out.width;
    for (int t = 0; t != Taps; ++t) {
        const int right = (kx + t) * g.dilation_width - g.padding_left;
        columns[t] = outputs_of_tap(right, g.stride_width, g.in.width, g.out.width);
        begin = std::max(begin, columns[t].first);
        end = std::min(end, columns[t].first + columns[t].count);
    }
    end = std::max(begin, end);
    Number partial[Taps][Vectors];
    float* const to = sums + (std::ptrdiff_t{ky} * g.kernel_width + kx) * pixel + c;
    unroll<Taps>([&](auto t) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            partial[t][v] = load_number<Number>(to + t * pixel + v * size);
        });
    });
    for (int row = rows.first; row != rows.first + rows.count; ++row) {
        const float* const given = dy + std::ptrdiff_t{row} * g.out.width * pixel + c;
        const float* const values = x + (std::ptrdiff_t{row} * g.stride_height + down) * g.in.width * pixel + c;
        const auto add = [&](int column, auto t) __attribute__((always_inline)) {
            const std::ptrdiff_t at =
                column * next + (std::ptrdiff_t{kx + t} * g.dilation_width - g.padding_left) * pixel;
            unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                partial[t][v] = multiply_add(load_number<Number>(given + column * pixel + v * size),
                                             load_number<Number>(values + at + v * size), partial[t][v]);
            });
        };
        for (int column = begin; column != end; ++column)
            unroll<Taps>([&](auto t) __attribute__((always_inline)) { add(column, t); });
        unroll<Taps>([&](auto t) __attribute__((always_inline)) {
            const int last = columns[t].first + columns[t].count;
            for (int column = columns[t].first; column < std::min(begin, last); ++column) add(column, t);
            for (int column = std::max(end, columns[t].first); column < last; ++column) add(column, t);
        });
    }
    unroll<Taps>([&](auto t) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v)
                            __attribute__((always_inline)) { store_number(partial[t][v], to + t * pixel + v * size); });
    });
}

/// Depthwise: dw[c][tap] += sum over pixels of dy[c] * x[c], `sums` being room for [tap][channel].
template <class Arch>
void add_depthwise_weight_gradient(const conv2d_geometry& g, int samples, const const_float_batch& x,
                                   const const_float_batch& dy, float* dw, float* sums) noexcept {
    constexpr int size = static_cast<int>(vector_size<float, Arch>);
    const std::ptrdiff_t channels = g.in.channels, taps = g.taps();
    for (std::ptrdiff_t c = 0; c != channels; ++c)
        for (std::ptrdiff_t tap = 0; tap != taps; ++tap) sums[tap * channels + c] = dw[c * taps + tap];
    for (int sample = 0; sample != samples; ++sample) {
        for (int ky = 0; ky != g.kernel_height; ++ky) {
            const auto add = [&](int kx, auto together) {
                constexpr int many = decltype(together)::value;
                int c = 0;
                const auto run = [&](auto vectors, auto kind) {
                    using Number = decltype(kind);
                    add_depthwise_taps<Arch, many, decltype(vectors)::value, Number>(g, ky, kx, c, x[sample],
                                                                                     dy[sample], sums);
                };
                if constexpr (has_vectors<Arch>) {
                    for (; c + 2 * size <= channels; c += 2 * size)
                        run(std::integral_constant<int, 2>(), number<Arch>());
                    for (; c + size <= channels; c += size) run(std::integral_constant<int, 1>(), number<Arch>());
                }
                for (; c != channels; ++c) run(std::integral_constant<int, 1>(), float());
            };
            int kx = 0;
            for (; kx + 3 <= g.kernel_width; kx += 3) add(kx, std::integral_constant<int, 3>());
            for (; kx != g.kernel_width; ++kx) add(kx, std::integral_constant<int, 1>());
        }
    }
    for (std::ptrdiff_t c = 0; c != channels; ++c)
        for (std::ptrdiff_t tap = 0; tap != taps; ++tap) dw[c * taps + tap] = sums[tap * channels + c];
}

/// How many floats of scratch conv2d_weight_gradient() needs.
template <class Arch> constexpr std::size_t conv2d_weight_gradient_scratch(const conv2d_geometry& g) {
    if (pairs_channels(g)) return static_cast<std::size_t>(g.taps()) * static_cast<std::size_t>(g.in.channels);
    if (float_winograd<Arch>::takes(g)) return float_winograd<Arch>(g).gradient_scratch();
    const pixel_strip strip = strip_of(g);
    if (is_large_product(g))
        return packed_outer_scratch<Arch>(strip.samples * strip.rows * g.out.width, g.out.channels);
    if (!copies_windows<Arch>(g)) return 0;
    return static_cast<std::size_t>(strip.samples) * static_cast<std::size_t>(strip.rows) *
           static_cast<std::size_t>(g.out.width) * static_cast<std::size_t>(copied_depth<Arch>(g));
}

/// dw[o][ky][kx][i] += sum over samples and outputs of dy[o] * x[i], the value of the input under that tap:
/// conv2d_batch()'s weights. Each sum goes on from what dw holds, sample by sample and in a fixed order of the pixels of
/// each, so that it has the same bits however samples are divided into calls; but for what float_winograd::takes(), whose samples of one
/// call are summed first. With `begins` dw holds nothing yet, and gets what it would from zeros. `scratch` has
/// conv2d_weight_gradient_scratch<Arch>(g) floats; nothing overlaps.
template <class Arch>
void conv2d_weight_gradient(const conv2d_geometry& g, int samples, const_float_batch x, const_float_batch dy, float* dw,
                            float* scratch, bool begins = false) noexcept {
    const bool is_large = !pairs_channels(g) && !float_winograd<Arch>::takes(g) && is_large_product(g);
    if (begins && !(is_large && samples > 0)) std::fill_n(dw, std::ptrdiff_t{g.out.channels} * g.depth(), 0.0f);
    if (pairs_channels(g)) {
        add_depthwise_weight_gradient<Arch>(g, samples, x, dy, dw, scratch);
        return;
    }
    if (float_winograd<Arch>::takes(g)) {
        add_weight_gradient_of_tiles<Arch>(g, samples, x, dy, dw, scratch);
        return;
    }
    if (!is_large && copies_windows<Arch>(g))  // zeros behind the depth
        std::fill_n(scratch, conv2d_weight_gradient_scratch<Arch>(g), 0.0f);
    for_each_strip(g, samples, [&](int sample, int count, int row, int rows) {
        if (is_large) {
            const std::ptrdiff_t in = g.in.channels, out = g.out.channels, width = g.out.width;
            add_packed_outer_products<Arch>({count, rows, g.out.width},
                                            {dy[sample] + row * width * out, out, width * out, dy.stride},
                                            {x[sample] + row * width * in, in, width * in, x.stride}, g.out.channels,
                                            g.in.channels, dw, in, scratch, begins && sample == 0 && row == 0);
        } else if (copies_windows<Arch>(g)) add_strip_of_copies<Arch>(g, sample, count, row, rows, x, dy, dw, scratch);
        else add_strip_in_place<Arch>(g, sample, count, row, rows, x, dy, dw);
    });
}

/// sums[c] += values[pixel][c] over the pixels of all samples in order: the gradient of a bias.
template <class Arch>
void add_channel_sums(int samples, const_float_batch values, std::ptrdiff_t pixels, std::ptrdiff_t channels,
                      float* sums) noexcept {
    for (int sample = 0; sample != samples; ++sample) {
        const float* from = values[sample];
        for (std::ptrdiff_t pixel = 0; pixel != pixels; ++pixel, from += channels)
            for_each_vector<Arch>(
                static_cast<std::size_t>(channels), [&](std::size_t c, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    store_number(Number(load_number<Number>(sums + c) + load_number<Number>(from + c)), sums + c);
                });
    }
}

}  // namespace zp::inline v0::kernel
