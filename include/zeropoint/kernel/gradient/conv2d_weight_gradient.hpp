// The gradients of a convolution's weights and bias, and of a linear layer's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/geometry/window_span.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/outer_product.hpp>

// A weight's gradient is the sum of dy * x over the pixels of all samples that its tap reaches: an outer product a pixel, of
// the channels of dy with those of x. Register tiles of the weights stay while some rows of pixels, which fit into the
// first-level cache, go by. Where a group has fewer channels than a vector, windows are copied side by side first.

namespace zp {
inline namespace v0 {
namespace kernel {

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

/// dw of a strip whose windows are copied, row by row of outputs: of one group, [pixel][copied_depth].
template <class Arch>
void add_strip_of_copies(const conv2d_geometry& g, int sample, int samples, int first_row, int rows,
                         const const_float_batch& x, const const_float_batch& dy, float* dw, float* copies) noexcept {
    const std::ptrdiff_t in = g.in.channels, out = g.out.channels, depth = g.depth();
    const int padded = copied_depth<Arch>(g), channels = g.group_in();
    const std::ptrdiff_t pixels = std::ptrdiff_t{rows} * g.out.width;
    for (int group = 0; group != g.groups; ++group) {
        float* to = copies;
        for (int i = sample; i != sample + samples; ++i) {
            const float* const from = x[i] + group * channels;
            for (int row = first_row; row != first_row + rows; ++row) {
                for (int column = 0; column != g.out.width; ++column) {
                    for (int ky = 0; ky != g.kernel_height; ++ky) {
                        const int y = row * g.stride_height - g.padding_top + ky * g.dilation_height;
                        for (int kx = 0; kx != g.kernel_width; ++kx, to += channels) {
                            const int at = column * g.stride_width - g.padding_left + kx * g.dilation_width;
                            const bool inside = y >= 0 && y < g.in.height && at >= 0 && at < g.in.width;
                            const float* const pixel = from + (std::ptrdiff_t{y} * g.in.width + at) * in;
                            for (int c = 0; c != channels; ++c) to[c] = inside ? pixel[c] : 0.0f;
                        }
                    }
                    to = std::fill_n(to, padded - depth, 0.0f);
                }
            }
        }
        add_outer_products<Arch>({samples, rows, g.out.width},
                                 {dy[sample] + std::ptrdiff_t{first_row} * g.out.width * out + group * g.group_out(),
                                  out, out * g.out.width, dy.stride},
                                 {copies, padded, std::ptrdiff_t{padded} * g.out.width, padded * pixels}, g.group_out(),
                                 g.depth(), true, dw + group * g.group_out() * depth, depth);
    }
}

/// Depthwise: dw[c][tap] += sum over pixels of dy[c] * x[c], `sums` being room for [tap][channel].
template <class Arch>
void add_depthwise_weight_gradient(const conv2d_geometry& g, int samples, const const_float_batch& x,
                                   const const_float_batch& dy, float* dw, float* sums) noexcept {
    const std::ptrdiff_t channels = g.in.channels, in_row = channels * g.in.width, taps = g.taps();
    for (std::ptrdiff_t c = 0; c != channels; ++c)
        for (std::ptrdiff_t tap = 0; tap != taps; ++tap) sums[tap * channels + c] = dw[c * taps + tap];
    for (int sample = 0; sample != samples; ++sample) {
        const float* from = dy[sample];
        for (int row = 0; row != g.out.height; ++row) {
            const window_span rows = rows_under(g, row, g.dilation_height);
            for (int column = 0; column != g.out.width; ++column, from += channels) {
                const window_span columns = columns_under(g, column, g.dilation_width);
                for (int r = 0; r != rows.count; ++r) {
                    for (int k = 0; k != columns.count; ++k) {
                        const float* const pixel = x[sample] + (rows.first + r * rows.step) * in_row +
                                                   (columns.first + k * columns.step) * channels;
                        float* const to = sums + ((rows.skipped + r) * g.kernel_width + columns.skipped + k) * channels;
                        for_each_vector<Arch>(
                            static_cast<std::size_t>(channels), [&](std::size_t c,
                                                                    auto kind) __attribute__((always_inline)) {
                                using Number = decltype(kind);
                                store_number(multiply_add(load_number<Number>(from + c), load_number<Number>(pixel + c),
                                                          load_number<Number>(to + c)),
                                             to + c);
                            });
                    }
                }
            }
        }
    }
    for (std::ptrdiff_t c = 0; c != channels; ++c)
        for (std::ptrdiff_t tap = 0; tap != taps; ++tap) dw[c * taps + tap] = sums[tap * channels + c];
}

/// How many floats of scratch conv2d_weight_gradient() needs.
template <class Arch> constexpr std::size_t conv2d_weight_gradient_scratch(const conv2d_geometry& g) {
    if (pairs_channels(g)) return static_cast<std::size_t>(g.taps()) * static_cast<std::size_t>(g.in.channels);
    if (!copies_windows<Arch>(g)) return 0;
    const pixel_strip strip = strip_of(g);
    return static_cast<std::size_t>(strip.samples) * static_cast<std::size_t>(strip.rows) *
           static_cast<std::size_t>(g.out.width) * static_cast<std::size_t>(copied_depth<Arch>(g));
}

/// dw[o][ky][kx][i] += sum over samples and outputs of dy[o] * x[i], the value of the input under that tap: conv2d_batch()'s
/// weights. Each sum goes on from what dw holds, sample by sample, row by row, column by column, so that it has the same bits
/// however samples are divided into calls. `scratch` has conv2d_weight_gradient_scratch<Arch>(g) floats; nothing overlaps.
template <class Arch>
void conv2d_weight_gradient(const conv2d_geometry& g, int samples, const_float_batch x, const_float_batch dy, float* dw,
                            float* scratch) noexcept {
    if (pairs_channels(g)) {
        add_depthwise_weight_gradient<Arch>(g, samples, x, dy, dw, scratch);
        return;
    }
    for_each_strip(g, samples, [&](int sample, int count, int row, int rows) {
        if (copies_windows<Arch>(g)) add_strip_of_copies<Arch>(g, sample, count, row, rows, x, dy, dw, scratch);
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

}  // namespace kernel
}  // namespace v0
}  // namespace zp
