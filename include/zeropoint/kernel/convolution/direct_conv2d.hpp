// Convolution by its definition: plain loops for any geometry, to compare the others with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/geometry/window_span.hpp>

// Packed: bias, one int32 an output channel, 64-byte aligned | w - w_zero_point as int16, OHWI.

namespace zp {
inline namespace v0 {
namespace kernel {

constexpr std::size_t direct_bias_bytes(const conv2d_geometry& g) {
    return align_up(static_cast<std::size_t>(g.out.channels) * sizeof(std::int32_t));
}
constexpr std::size_t direct_packed_bytes(const conv2d_geometry& g) {
    const auto weights = static_cast<std::size_t>(g.out.channels) * static_cast<std::size_t>(g.depth());
    return direct_bias_bytes(g) + align_up(weights * sizeof(std::int16_t));
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
        for (int i = 0; i != g.depth(); ++i) *to++ = static_cast<std::int16_t>(*from++ - zero_point);
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
        for (int i = 0; i != g.depth(); ++i) *values++ = static_cast<Weight>(*from++ + zero_point);
    }
}

template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void direct_conv2d(const conv2d_geometry& g, const In* x, activation_codes codes,
                                     const std::byte* packed, const Epilogue& epilogue, Out* y) noexcept {
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
                const std::ptrdiff_t filter = std::ptrdiff_t{channel} * g.depth();
                for (int r = 0; r != rows.count; ++r) {
                    for (int c = 0; c != columns.count; ++c) {
                        const int ky = rows.skipped + r, kx = columns.skipped + c;
                        const std::ptrdiff_t y_in = rows.first + r * rows.step;
                        const std::ptrdiff_t x_in = columns.first + c * columns.step;
                        const In* pixel =
                            x + (y_in * g.in.width + x_in) * g.in.channels + channel / g.group_out() * channels;
                        const std::int16_t* w = weights + filter + (ky * g.kernel_width + kx) * channels;
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

}  // namespace kernel
}  // namespace v0
}  // namespace zp
