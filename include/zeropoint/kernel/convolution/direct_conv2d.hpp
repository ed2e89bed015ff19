// SPDX-License-Identifier: BSD-3-Clause
// Convolution by its definition: plain loops for any geometry, to compare the others with. Depthwise ones have loops of their own,
// which is how architectures without vectors compute them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/geometry/window_span.hpp>

// Packed: bias, one int32 an output channel, 64-byte aligned | w - w_zero_point as int16, OHWI; of depthwise ones HWO.

namespace zp::inline v0::kernel {

constexpr std::size_t direct_bias_bytes(const conv2d_geometry& g) {
    return align_up(static_cast<std::size_t>(g.out.channels) * sizeof(std::int32_t));
}
constexpr std::size_t direct_packed_bytes(const conv2d_geometry& g) {
    const auto weights = static_cast<std::size_t>(g.out.channels) * static_cast<std::size_t>(g.depth());
    return direct_bias_bytes(g) + align_up(weights * sizeof(std::int16_t));
}

/// Whether every channel has an input and an output of its own.
constexpr bool is_depthwise(const conv2d_geometry& g) {
    return g.groups > 1 && g.groups == g.in.channels && g.groups == g.out.channels;
}
/// Where the weight of product i of a channel lies.
constexpr std::ptrdiff_t direct_place(const conv2d_geometry& g, int channel, int i) {
    return is_depthwise(g) ? std::ptrdiff_t{i} * g.out.channels + channel : std::ptrdiff_t{channel} * g.depth() + i;
}

template <class Arch, class Weight>
void pack_direct(const conv2d_geometry& g, const conv2d_weights<Weight>& weights, std::byte* packed) {
    std::fill_n(packed, direct_packed_bytes(g), std::byte{0});
    auto* bias = reinterpret_cast<std::int32_t*>(packed);
    auto* to = reinterpret_cast<std::int16_t*>(packed + direct_bias_bytes(g));
    if (weights.bias != nullptr) std::copy_n(weights.bias, g.out.channels, bias);
    const Weight* from = weights.values;
    for (int channel = 0; channel != g.out.channels; ++channel) {
        const std::int32_t zero_point = weights.zero_points == nullptr ? 0 : weights.zero_points[channel];
        for (int i = 0; i != g.depth(); ++i)
            to[direct_place(g, channel, i)] = static_cast<std::int16_t>(*from++ - zero_point);
    }
}

/// The exact inverse of pack_direct.
template <class Arch, class Weight>
void unpack_direct(const conv2d_geometry& g, const std::int32_t* zero_points, const std::byte* packed, Weight* values,
                   std::int32_t* bias) {
    std::copy_n(reinterpret_cast<const std::int32_t*>(packed), g.out.channels, bias);
    auto* from = reinterpret_cast<const std::int16_t*>(packed + direct_bias_bytes(g));
    for (int channel = 0; channel != g.out.channels; ++channel) {
        const std::int32_t zero_point = zero_points == nullptr ? 0 : zero_points[channel];
        for (int i = 0; i != g.depth(); ++i)
            *values++ = static_cast<Weight>(from[direct_place(g, channel, i)] + zero_point);
    }
}

/// The window of one output pixel of a depthwise convolution: what of it lies inside, from channel 0 on. Steps are in elements.
template <class In> struct depthwise_window {
    const In* x;
    const std::int16_t* weights;
    std::int32_t zero_point;
    int rows, columns;
    std::ptrdiff_t row_step, column_step, weight_row_step, weight_step;

    depthwise_window(const conv2d_geometry& g, const In* image, std::int32_t zero, const std::int16_t* all_weights,
                     const window_span& rows_inside, const window_span& columns_inside)
        : x(image + (std::ptrdiff_t{rows_inside.first} * g.in.width + columns_inside.first) * g.in.channels),
          weights(all_weights +
                  (std::ptrdiff_t{rows_inside.skipped} * g.kernel_width + columns_inside.skipped) * g.out.channels),
          zero_point(zero),
          rows(rows_inside.count),
          columns(columns_inside.count),
          row_step(std::ptrdiff_t{rows_inside.step} * g.in.width * g.in.channels),
          column_step(std::ptrdiff_t{columns_inside.step} * g.in.channels),
          weight_row_step(std::ptrdiff_t{g.kernel_width} * g.out.channels),
          weight_step(g.out.channels) {}
};
/// sums[i] = bias[channel + i] + the products of so many channels, modulo 2^32. A function of its own: what its caller keeps would
/// take registers from the sums.
template <int Channels, class In>
[[gnu::noinline]] void sum_depthwise(const depthwise_window<In>& window, int channel, const std::int32_t* bias,
                                     std::int32_t* sums) noexcept {
    const std::int32_t zero_point = window.zero_point;
    std::uint32_t sum[Channels];
#pragma GCC unroll 64
    for (int i = 0; i != Channels; ++i) sum[i] = static_cast<std::uint32_t>(bias[channel + i]);
    const In* row = window.x + channel;
    const std::int16_t* weight_row = window.weights + channel;
    for (int r = window.rows; r != 0; --r, row += window.row_step, weight_row += window.weight_row_step) {
        const In* pixel = row;
        const std::int16_t* weight = weight_row;
        for (int c = window.columns; c != 0; --c, pixel += window.column_step, weight += window.weight_step) {
#pragma GCC unroll 64
            for (int i = 0; i != Channels; ++i)
                sum[i] += static_cast<std::uint32_t>((pixel[i] - zero_point) * weight[i]);
        }
    }
#pragma GCC unroll 64
    for (int i = 0; i != Channels; ++i) sums[i] = static_cast<std::int32_t>(sum[i]);
}
template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void direct_depthwise(const conv2d_geometry& g, const In* x, activation_codes codes,
                                        const std::byte* packed, const Epilogue& epilogue, Out* y) noexcept {
    constexpr int block = operations<Arch>::has_batches ? panel_width<Arch> : 64;
    const auto* bias = reinterpret_cast<const std::int32_t*>(packed);
    const auto* weights = reinterpret_cast<const std::int16_t*>(packed + direct_bias_bytes(g));
    alignas(64) std::int32_t sums[block];
    for (int row = 0; row != g.out.height; ++row) {
        const window_span rows = rows_under(g, row, g.dilation_height);
        for (int column = 0; column != g.out.width; ++column, y += g.out.channels) {
            const depthwise_window<In> window(g, x, codes.zero_point, weights, rows,
                                              columns_under(g, column, g.dilation_width));
            for (int channel = 0; channel < g.out.channels; channel += block) {
                const int count = std::min(block, g.out.channels - channel);
                int i = 0;
                for (; i + 4 <= count; i += 4) sum_depthwise<4>(window, channel + i, bias, sums + i);
                for (; i != count; ++i) sum_depthwise<1>(window, channel + i, bias, sums + i);
                finish_rows<Arch>(epilogue, sums, 1, channel, count, y + channel, g.out.channels);
            }
        }
    }
}

template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void direct_conv2d(const conv2d_geometry& g, const In* x, activation_codes codes,
                                     const std::byte* packed, const Epilogue& epilogue, Out* y) noexcept {
    if constexpr (sizeof(In) == 1)
        if (is_depthwise(g)) return direct_depthwise<Arch>(g, x, codes, packed, epilogue, y);
    const auto* bias = reinterpret_cast<const std::int32_t*>(packed);
    const auto* weights = reinterpret_cast<const std::int16_t*>(packed + direct_bias_bytes(g));
    const int channels = g.group_in();
    for (int row = 0; row != g.out.height; ++row) {
        const window_span rows = rows_under(g, row, g.dilation_height);
        for (int column = 0; column != g.out.width; ++column) {
            const window_span columns = columns_under(g, column, g.dilation_width);
            for (int channel = 0; channel != g.out.channels; ++channel) {
                [[maybe_unused]] std::int64_t int64_sum = 0;  // of 16-bit codes
                std::uint32_t sum = static_cast<std::uint32_t>(bias[channel]);
                for (int r = 0; r != rows.count; ++r) {
                    for (int c = 0; c != columns.count; ++c) {
                        const int ky = rows.skipped + r, kx = columns.skipped + c;
                        const std::ptrdiff_t y_in = rows.first + r * rows.step;
                        const std::ptrdiff_t x_in = columns.first + c * columns.step;
                        const In* pixel =
                            x + (y_in * g.in.width + x_in) * g.in.channels + channel / g.group_out() * channels;
                        const std::int16_t* w =
                            weights + direct_place(g, channel, (ky * g.kernel_width + kx) * channels);
                        if constexpr (sizeof(In) == 2) {
                            for (int i = 0; i != channels; ++i) int64_sum += pixel[i] * w[i];
                            continue;
                        }
                        std::int32_t dot = 0;
                        for (int i = 0; i != channels; ++i) dot += (pixel[i] - codes.zero_point) * w[i];
                        sum += static_cast<std::uint32_t>(dot);
                    }
                }
                if constexpr (sizeof(In) == 2)
                    *y = static_cast<Out>(epilogue(int64_sum + epilogue.bias[channel], channel));
                else *y = finish_one(epilogue, static_cast<std::int32_t>(sum), channel, y);
                ++y;
            }
        }
    }
}

}  // namespace zp::inline v0::kernel
