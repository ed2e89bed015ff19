// SPDX-License-Identifier: BSD-3-Clause
// Weights of Winograd's convolutions: filters in the order they are transformed, channels split where a sum could be large.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/winograd/winograd_transform.hpp>

// A packed convolution:
//
//   ends of the parts of each panel, int32 | bias, one int32 a channel of a panel | zero points, [output channel][2] int16
//   of a panel | panel 0 | panel 1 | ...
//
// each at a 64-byte boundary. A panel holds panel_width channels of one group; its depth is the input channels of the
// group, padded with zero weights to a multiple of 4. The codes of a panel, unsigned ones less 128, lie as
//
//   [input channel / 2][tap][output channel][2] int8
//
// Transformed weights G w G^T would be 8 times as large for 4x4 (positions for taps, in int16), and reading those from
// memory takes longer than making them from codes does.
//
// A part is a range of input channels over which no sum can reach the method's limit, for any input: one part, unless
// weights are large and channels many. Its end is chosen when weights are packed, per panel, because a part more costs
// one more output transform of that panel and nothing else. The packed size does not depend on it.

namespace zp::inline v0::kernel {

/// Where the parts of packed Winograd weights lie.
template <class Arch> struct winograd_layout {
    static constexpr int width = panel_width<Arch>;

    int depth;  ///< input channels of a group, padded
    int group_panels, panels;
    int most_parts;  ///< that any weights need
    std::size_t bias_begin, zero_points_begin, panels_begin, panel_bytes, bytes;

    constexpr winograd_layout(const conv2d_geometry& g, const winograd_method& method)
        : depth((g.group_in() + 3) / 4 * 4),
          group_panels((g.group_out() + width - 1) / width),
          panels(group_panels * g.groups),
          most_parts(winograd_most_parts(depth, method)),
          bias_begin(
              align_up(static_cast<std::size_t>(panels) * static_cast<std::size_t>(most_parts) * sizeof(std::int32_t))),
          zero_points_begin(bias_begin + align_up(static_cast<std::size_t>(panels * width) * sizeof(std::int32_t))),
          panels_begin(zero_points_begin +
                       align_up(static_cast<std::size_t>(panels * width) * 2 * sizeof(std::int16_t))),
          panel_bytes(align_up(static_cast<std::size_t>(depth * width) * 9)),
          bytes(panels_begin + static_cast<std::size_t>(panels) * panel_bytes) {}

    /// Four channels contribute at most 4 * 9 * 255 * 255 to a sum, so a part ends at this number of them or later.
    static constexpr int winograd_most_parts(int depth, const winograd_method& method) {
        constexpr std::int64_t largest = 4 * 9 * 255 * 255;
        static_assert(largest < winograd_4x4::method.limit() && largest < winograd_2x2::method.limit());
        const auto channels = static_cast<int>((method.limit() - 1) / largest * 4);
        return (depth + channels - 1) / channels;
    }
    /// The place in a panel of a tap of an input channel's filter.
    static constexpr std::ptrdiff_t place(int tap, int channel, int lane) {
        return ((std::ptrdiff_t{channel / 2} * 9 + tap) * width + lane) * 2 + channel % 2;
    }
    /// Output channels of a panel: [first, first + count) of the layer.
    constexpr int first_channel(const conv2d_geometry& g, int panel) const {
        return panel / group_panels * g.group_out() + panel % group_panels * width;
    }
    constexpr int channels(const conv2d_geometry& g, int panel) const {
        return std::min(g.group_out() - panel % group_panels * width, width);
    }
};

/// Reading packed Winograd weights; `Byte` is std::byte where they are being written.
template <class Arch, class Byte = const std::byte> struct winograd_weights {
    template <class T> using pointer = std::conditional_t<std::is_const_v<Byte>, const T, T>*;

    winograd_layout<Arch> layout;
    Byte* data;

    winograd_weights(const conv2d_geometry& g, const winograd_method& method, Byte* packed)
        : layout(g, method), data(packed) {}

    /// Where the parts of a panel end; the last is layout.depth.
    pointer<std::int32_t> ends(int panel) const {
        return at<std::int32_t>(0) + std::ptrdiff_t{panel} * layout.most_parts;
    }
    pointer<std::int32_t> bias(int panel) const {
        return at<std::int32_t>(layout.bias_begin) + std::ptrdiff_t{panel} * layout.width;
    }
    pointer<std::int16_t> zero_points(int panel) const {
        return at<std::int16_t>(layout.zero_points_begin) + std::ptrdiff_t{panel} * 2 * layout.width;
    }
    pointer<std::int8_t> panel(int index) const {
        return at<std::int8_t>(layout.panels_begin + static_cast<std::size_t>(index) * layout.panel_bytes);
    }

private:
    template <class T> pointer<T> at(std::size_t offset) const { return reinterpret_cast<pointer<T>>(data + offset); }
};

/// What is taken from codes of weights, and from their zero points, to make them signed bytes.
template <class Weight> inline constexpr int winograd_bias = std::is_signed_v<Weight> ? 0 : 128;

/// The filters of one panel. Channels past the last have none.
template <class Weight> struct winograd_filters {
    const conv2d_weights<Weight>& weights;
    int first, count, depth;

    std::int32_t zero_point(int lane) const {
        return weights.zero_points == nullptr || lane >= count ? 0 : weights.zero_points[first + lane];
    }
    /// A tap of an input channel of an output channel, the zero point where there is no such.
    std::int32_t tap(int index, int channel, int lane) const {
        if (lane >= count || channel >= depth) return zero_point(lane);
        return weights.values[(std::ptrdiff_t{first + lane} * 9 + index) * depth + channel];
    }
};

/// The largest |sum| that some channels of an output can reach, from the sums of their positive and negative weights.
struct winograd_reach {
    std::int64_t positive = 0, negative = 0;

    void add(std::int32_t w) { (w > 0 ? positive : negative) += w > 0 ? w : -w; }
    /// x - x_zero_point being anything in [low, high], which contains the 0 of padding.
    constexpr std::int64_t largest(std::int64_t low, std::int64_t high) const {
        return std::max(high * positive - low * negative, high * negative - low * positive);
    }
};

/// Cuts the depth of a panel into the fewest parts, multiples of 4 channels, that stay below the limit.
template <class Arch, class Weight>
void split_winograd_panel(const winograd_layout<Arch>& layout, const winograd_method& method,
                          const winograd_filters<Weight>& filters, activation_codes codes, std::int32_t* ends) {
    const std::int64_t low = std::min(codes.min, codes.zero_point) - codes.zero_point,
                       high = std::max(codes.max, codes.zero_point) - codes.zero_point;
    winograd_reach reach[panel_width<Arch>];
    std::fill_n(ends, layout.most_parts, layout.depth);
    for (int begin = 0; begin != layout.depth; begin += 4) {
        winograd_reach added[panel_width<Arch>];
        bool fits = true;
        for (int lane = 0; lane != layout.width; ++lane) {
            for (int channel = begin; channel != begin + 4; ++channel) {
                for (int tap = 0; tap != 9; ++tap)
                    added[lane].add(filters.tap(tap, channel, lane) - filters.zero_point(lane));
            }
            reach[lane].positive += added[lane].positive;
            reach[lane].negative += added[lane].negative;
            fits = fits && reach[lane].largest(low, high) < method.limit();
        }
        if (fits) continue;
        *ends++ = begin;
        std::copy_n(added, layout.width, reach);
    }
}

/// Packs weights and bias. `packed` has winograd_layout::bytes bytes, 64-byte aligned.
template <class Arch, class Weight>
void pack_winograd(const conv2d_geometry& g, const winograd_method& method, const conv2d_weights<Weight>& weights,
                   activation_codes codes, std::byte* packed) {
    const winograd_weights<Arch, std::byte> packing(g, method, packed);
    const winograd_layout<Arch>& layout = packing.layout;
    constexpr int bias = winograd_bias<Weight>;
    std::fill_n(packed, layout.bytes, std::byte{0});
    for (int panel = 0; panel != layout.panels; ++panel) {
        const winograd_filters<Weight> filters{weights, layout.first_channel(g, panel), layout.channels(g, panel),
                                               g.group_in()};
        if (weights.bias != nullptr) std::copy_n(weights.bias + filters.first, filters.count, packing.bias(panel));
        split_winograd_panel(layout, method, filters, codes, packing.ends(panel));
        for (int lane = 0; lane != layout.width; ++lane) {
            std::fill_n(packing.zero_points(panel) + 2 * lane, 2,
                        static_cast<std::int16_t>(filters.zero_point(lane) - bias));
            for (int channel = 0; channel != layout.depth; ++channel) {
                for (int tap = 0; tap != 9; ++tap) {
                    packing.panel(panel)[layout.place(tap, channel, lane)] =
                        static_cast<std::int8_t>(filters.tap(tap, channel, lane) - bias);
                }
            }
        }
    }
}

/// The exact inverse of pack_winograd.
template <class Arch, class Weight>
void unpack_winograd(const conv2d_geometry& g, const winograd_method& method, const std::byte* packed, Weight* values,
                     std::int32_t* bias) {
    const winograd_weights<Arch> weights(g, method, packed);
    const winograd_layout<Arch>& layout = weights.layout;
    for (int panel = 0; panel != layout.panels; ++panel) {
        const int first = layout.first_channel(g, panel), count = layout.channels(g, panel);
        std::copy_n(weights.bias(panel), count, bias + first);
        for (int lane = 0; lane != count; ++lane) {
            for (int tap = 0; tap != 9; ++tap) {
                for (int channel = 0; channel != g.group_in(); ++channel) {
                    *values++ = static_cast<Weight>(weights.panel(panel)[layout.place(tap, channel, lane)] +
                                                    winograd_bias<Weight>);
                }
            }
        }
    }
}

}  // namespace zp::inline v0::kernel
