// Depthwise convolution: one filter a channel, vectorized over channels, two taps a multiply.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/gemm.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/pack.hpp>
#include <zeropoint/kernel/staging.hpp>

// Two taps of a channel are interleaved as int16 pairs (x[t], x[t + 1]) and multiplied with (w[t], w[t + 1]) into
// int32: exact for any weights, affine ones too, because x - x_zero_point and w - w_zero_point have at most 9 bits.
// Packed:
//
//   bias, one int32 a channel, in the order of interleaved lanes | [panel][tap pair][lane][2] int16
//
// both at 64-byte boundaries.
//
// A last odd tap is paired with itself at weight 0.

namespace zp {
inline namespace v0 {
namespace kernel {

/// Where the parts of packed depthwise weights lie.
template <class Arch> struct depthwise_layout {
    static constexpr int width = panel_width<Arch>;

    int panels, tap_pairs;
    std::size_t weights_begin, bytes;

    constexpr explicit depthwise_layout(const conv2d_geometry& g)
        : panels((g.out.channels + width - 1) / width),
          tap_pairs((g.taps() + 1) / 2),
          weights_begin(align_up(static_cast<std::size_t>(panels * width) * sizeof(std::int32_t))),
          bytes(weights_begin +
                align_up(static_cast<std::size_t>(panels * tap_pairs * width) * 2 * sizeof(std::int16_t))) {}

    /// The place of one weight: lane l of a panel holds channel interleaved_channel(l).
    constexpr std::ptrdiff_t place(int panel, int lane, int tap) const {
        return ((std::ptrdiff_t{panel} * tap_pairs + tap / 2) * width + lane) * 2 + tap % 2;
    }
    /// The channel of a lane; may be past the last.
    static constexpr int channel(int panel, int lane) {
        return panel * width + operations<Arch>::interleaved_channel(lane);
    }
};

template <class Arch, class Weight>
void pack_depthwise(const conv2d_geometry& g, const conv2d_weights<Weight>& weights, std::byte* packed) {
    const depthwise_layout<Arch> layout(g);
    std::fill_n(packed, layout.bytes, std::byte{0});
    auto* bias = reinterpret_cast<std::int32_t*>(packed);
    auto* to = reinterpret_cast<std::int16_t*>(packed + layout.weights_begin);
    for (int panel = 0; panel != layout.panels; ++panel) {
        for (int lane = 0; lane != layout.width; ++lane) {
            const int channel = layout.channel(panel, lane);
            if (channel >= g.out.channels) continue;
            if (weights.bias != nullptr) bias[panel * layout.width + lane] = weights.bias[channel];
            const std::int32_t zero_point = weights.zero_points == nullptr ? 0 : weights.zero_points[channel];
            for (int tap = 0; tap != g.taps(); ++tap) {
                const Weight from = weights.values[std::ptrdiff_t{channel} * g.taps() + tap];
                to[layout.place(panel, lane, tap)] = static_cast<std::int16_t>(from - zero_point);
            }
        }
    }
}

/// The exact inverse of pack_depthwise.
template <class Arch, class Weight>
void unpack_depthwise(const conv2d_geometry& g, const std::int32_t* zero_points, const std::byte* packed,
                      Weight* values, std::int32_t* bias) {
    const depthwise_layout<Arch> layout(g);
    auto* packed_bias = reinterpret_cast<const std::int32_t*>(packed);
    auto* from = reinterpret_cast<const std::int16_t*>(packed + layout.weights_begin);
    for (int panel = 0; panel != layout.panels; ++panel) {
        for (int lane = 0; lane != layout.width; ++lane) {
            const int channel = layout.channel(panel, lane);
            if (channel >= g.out.channels) continue;
            bias[channel] = packed_bias[panel * layout.width + lane];
            const std::int32_t zero_point = zero_points == nullptr ? 0 : zero_points[channel];
            for (int tap = 0; tap != g.taps(); ++tap) {
                values[std::ptrdiff_t{channel} * g.taps() + tap] =
                    static_cast<Weight>(from[layout.place(panel, lane, tap)] + zero_point);
            }
        }
    }
}

/// What follows from a geometry alone: the layout of bands, and where in scratch the taps are listed.
struct depthwise_plan {
    band_layout layout;
    int band_rows;           ///< output rows of a band; the last may have fewer
    std::size_t taps_begin;  ///< of the offset of each tap in a band
    std::size_t scratch_bytes;

    constexpr explicit depthwise_plan(const conv2d_geometry& g)
        : layout(staged_layout(g, sizeof(std::int16_t))),
          band_rows(band_output_rows(g, layout)),
          taps_begin(band_scratch_bytes(g, layout, band_rows)),
          scratch_bytes(taps_begin + align_up(static_cast<std::size_t>(g.taps() + 1) * sizeof(std::int32_t))) {}
};

/// Sums of one panel of channels for `pixels` outputs that lie `pixel_step` elements apart in the band. `TapPairs` is
/// their number, or 0 where it is known at run time only.
template <class Arch, int TapPairs>
[[gnu::noinline]] void multiply_taps(const std::int16_t* band, std::ptrdiff_t pixel_step, int pixels,
                                     const std::int32_t* taps, int tap_pairs, const std::int16_t* weights,
                                     const std::int32_t* bias, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    using int16 = typename ops::int16;
    constexpr int width = panel_width<Arch>;
    for (int pixel = 0; pixel != pixels; ++pixel, band += pixel_step, sums += width) {
        int32 sum[ops::vectors];
        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
            sum[v] = ops::template load<int32>(bias + v * ops::lanes);
        });
        const auto multiply = [&](int pair) __attribute__((always_inline)) {
            int16 x[ops::vectors];
            ops::interleave(band + taps[2 * pair], band + taps[2 * pair + 1], x);
            unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                ops::dot2(sum[v], x[v],
                          ops::template load<int16>(weights + (pair * ops::vectors + v) * ops::lanes * 2));
            });
        };
        if constexpr (TapPairs != 0) unroll<TapPairs>(multiply);
        else
            for (int pair = 0; pair != tap_pairs; ++pair) multiply(pair);
        ops::restore_order(sum);
        unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) { ops::store(sums + v * ops::lanes, sum[v]); });
    }
}

/// The whole convolution, band by band. `scratch` has depthwise_plan::scratch_bytes bytes.
template <class Arch, class In, class Out, class Epilogue>
[[gnu::noinline]] void depthwise_conv2d(const conv2d_geometry& g, const In* x, activation_codes codes,
                                        const std::byte* packed, const Epilogue& epilogue, Out* y,
                                        std::byte* scratch) noexcept {
    constexpr int most_pixels = 16;
    const depthwise_layout<Arch> packing(g);
    const depthwise_plan plan(g);
    const band_layout& layout = plan.layout;
    const auto* bias = reinterpret_cast<const std::int32_t*>(packed);
    const auto* weights = reinterpret_cast<const std::int16_t*>(packed + packing.weights_begin);
    auto* band = reinterpret_cast<std::int16_t*>(scratch);
    auto* taps = reinterpret_cast<std::int32_t*>(scratch + plan.taps_begin);
    for (int tap = 0; tap != g.taps(); ++tap) {
        const std::ptrdiff_t row = tap / g.kernel_width * g.dilation_height,
                             column = tap % g.kernel_width * g.dilation_width;
        taps[tap] = taps[tap + 1] = static_cast<std::int32_t>(row * layout.row_pitch + column * layout.pixel_pitch);
    }
    const auto multiply = packing.tap_pairs == 5    ? &multiply_taps<Arch, 5>   // 3x3
                          : packing.tap_pairs == 13 ? &multiply_taps<Arch, 13>  // 5x5
                                                    : &multiply_taps<Arch, 0>;
    const std::ptrdiff_t pixel_step = layout.column_stride * layout.pixel_pitch;

    alignas(64) std::int32_t sums[most_pixels * panel_width<Arch>];
    for (int first = 0; first < g.out.height; first += plan.band_rows) {
        const int count = std::min(plan.band_rows, g.out.height - first);
        stage_band<Arch>(g, layout, first, count, x, codes, band);
        for (int row = 0; row != count; ++row) {
            for (int column = 0; column < g.out.width; column += most_pixels) {
                const int pixels = std::min(most_pixels, g.out.width - column);
                const std::int16_t* window = band + row * layout.row_stride * layout.row_pitch + column * pixel_step;
                for (int panel = 0; panel != packing.panels; ++panel) {
                    const int channel = panel * packing.width;
                    multiply(window + channel, pixel_step, pixels, taps, packing.tap_pairs,
                             weights + packing.place(panel, 0, 0), bias + channel, sums);
                    finish_rows<Arch>(epilogue, sums, pixels, channel,
                                      std::min(packing.width, g.out.channels - channel),
                                      y + column * g.out.channels + channel, g.out.channels);
                }
            }
            y += std::ptrdiff_t{g.out.width} * g.out.channels;
        }
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
