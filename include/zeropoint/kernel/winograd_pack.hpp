// Weights of Winograd's convolutions: transformed, in the order they are read, channels split where a sum could be large.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/pack.hpp>
#include <zeropoint/kernel/winograd_transform.hpp>

// A packed convolution:
//
//   ends of the parts of each panel, int32 | bias, one int32 a channel of a panel | panel 0 | panel 1 | ...
//
// each at a 64-byte boundary. A panel holds panel_width channels of one group; its depth is the input channels of the
// group, padded with zero weights to a multiple of 4. The transformed weights G w G^T of a panel lie as
//
//   [part][position][channels of the part / 2][output channel][2] int16
//
// which is the order of reading. A part is a range of input channels over which no sum can reach the method's limit,
// for any input: one part, unless weights are large and channels many. Its end is chosen when weights are packed, per
// panel, because a part more costs one more output transform of that panel and nothing else. The packed size does not
// depend on it.

namespace zp {
inline namespace v0 {
namespace kernel {

/// Where the parts of packed Winograd weights lie.
template <class Arch> struct winograd_layout {
    static constexpr int width = panel_width<Arch>;

    int positions;
    int depth;  ///< input channels of a group, padded
    int group_panels, panels;
    int most_parts;  ///< that any weights need
    std::size_t bias_begin, panels_begin, panel_bytes, bytes;

    constexpr winograd_layout(const conv2d_geometry& g, const winograd_method& method)
        : positions(method.positions()),
          depth((g.group_in() + 3) / 4 * 4),
          group_panels((g.group_out() + width - 1) / width),
          panels(group_panels * g.groups),
          most_parts(winograd_most_parts(depth, method)),
          bias_begin(
              align_up(static_cast<std::size_t>(panels) * static_cast<std::size_t>(most_parts) * sizeof(std::int32_t))),
          panels_begin(bias_begin + align_up(static_cast<std::size_t>(panels * width) * sizeof(std::int32_t))),
          panel_bytes(align_up(static_cast<std::size_t>(positions) * static_cast<std::size_t>(depth) *
                               static_cast<std::size_t>(width) * sizeof(std::int16_t))),
          bytes(panels_begin + static_cast<std::size_t>(panels) * panel_bytes) {}

    /// Four channels contribute at most 4 * 9 * 255 * 255 to a sum, so a part ends at this number of them or later.
    static constexpr int winograd_most_parts(int depth, const winograd_method& method) {
        constexpr std::int64_t largest = 4 * 9 * 255 * 255;
        static_assert(largest < winograd_4x4::method.limit() && largest < winograd_2x2::method.limit());
        const auto channels = static_cast<int>((method.limit() - 1) / largest * 4);
        return (depth + channels - 1) / channels;
    }
    /// The place in a panel of a weight at one position: input channel `channel`, in the part [begin, end).
    constexpr std::ptrdiff_t place(int begin, int end, int position, int channel, int lane) const {
        const int inside = channel - begin;
        return std::ptrdiff_t{begin} * positions * width + std::ptrdiff_t{end - begin} * position * width +
               (std::ptrdiff_t{inside / 2} * width + lane) * 2 + inside % 2;
    }
    /// Output channels of a panel: [first, first + count) of the layer.
    constexpr int first_channel(const conv2d_geometry& g, int panel) const {
        return panel / group_panels * g.group_out() + panel % group_panels * width;
    }
    constexpr int channels(const conv2d_geometry& g, int panel) const {
        return std::min(g.group_out() - panel % group_panels * width, width);
    }
};

/// Reading packed Winograd weights.
template <class Arch> struct winograd_weights {
    winograd_layout<Arch> layout;
    const std::byte* data;

    winograd_weights(const conv2d_geometry& g, const winograd_method& method, const std::byte* packed)
        : layout(g, method), data(packed) {}

    /// Where the parts of a panel end; the last is layout.depth.
    const std::int32_t* ends(int panel) const {
        return reinterpret_cast<const std::int32_t*>(data) + std::ptrdiff_t{panel} * layout.most_parts;
    }
    const std::int32_t* bias(int panel) const {
        return reinterpret_cast<const std::int32_t*>(data + layout.bias_begin) + std::ptrdiff_t{panel} * layout.width;
    }
    const std::int16_t* panel(int index) const {
        return reinterpret_cast<const std::int16_t*>(data + layout.panels_begin +
                                                     static_cast<std::size_t>(index) * layout.panel_bytes);
    }
};

/// The filters of one panel, as differences from their zero points. Channels past the last have none.
template <class Weight> struct winograd_filters {
    const conv2d_weights<Weight>& weights;
    int first, count, depth;

    /// The nine taps of an input channel of an output channel, zeros where there is no such.
    void load(int lane, int channel, int (&taps)[3][3]) const {
        const bool exists = lane < count && channel < depth;
        for (int tap = 0; tap != 9; ++tap) {
            const std::int32_t zero_point =
                weights.zero_points == nullptr || !exists ? 0 : weights.zero_points[first + lane];
            taps[tap / 3][tap % 3] =
                exists ? weights.values[(std::ptrdiff_t{first + lane} * 9 + tap) * depth + channel] - zero_point : 0;
        }
    }
};

/// The largest |sum| that some channels of an output can reach, from the sums of their positive and negative weights.
struct winograd_reach {
    std::int64_t positive = 0, negative = 0;

    void add(const int (&taps)[3][3]) {
        for (const auto& row : taps) {
            for (const int w : row) (w > 0 ? positive : negative) += w > 0 ? w : -w;
        }
    }
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
            int taps[3][3];
            for (int channel = begin; channel != begin + 4; ++channel) {
                filters.load(lane, channel, taps);
                added[lane].add(taps);
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

/// G w G^T, one number a position.
inline void transform_winograd_filter(const winograd_method& method, const int (&taps)[3][3],
                                      std::int16_t (&transformed)[36]) {
    for (int y = 0; y != method.inputs; ++y) {
        int row[3]{};
        for (int k = 0; k != 3; ++k) {
            for (int tap = 0; tap != 3; ++tap) row[k] += method.kernel[y][tap] * taps[tap][k];
        }
        for (int x = 0; x != method.inputs; ++x) {
            int sum = 0;
            for (int tap = 0; tap != 3; ++tap) sum += row[tap] * method.kernel[x][tap];
            transformed[y * method.inputs + x] = static_cast<std::int16_t>(sum);
        }
    }
}
/// The exact inverse.
inline void recover_winograd_filter(const winograd_method& method, const std::int16_t (&transformed)[36],
                                    int (&taps)[3][3]) {
    for (int ky = 0; ky != 3; ++ky) {
        for (int kx = 0; kx != 3; ++kx) {
            int sum = 0;
            for (int position = 0; position != method.positions(); ++position) {
                sum += method.inverse[ky][position / method.inputs] * method.inverse[kx][position % method.inputs] *
                       transformed[position];
            }
            taps[ky][kx] = sum / (method.inverse_scale * method.inverse_scale);
        }
    }
}

/// Packs weights and bias. `packed` has winograd_layout::bytes bytes, 64-byte aligned.
template <class Arch, class Weight>
void pack_winograd(const conv2d_geometry& g, const winograd_method& method, const conv2d_weights<Weight>& weights,
                   activation_codes codes, std::byte* packed) {
    const winograd_layout<Arch> layout(g, method);
    std::fill_n(packed, layout.bytes, std::byte{0});
    for (int panel = 0; panel != layout.panels; ++panel) {
        const winograd_filters<Weight> filters{weights, layout.first_channel(g, panel), layout.channels(g, panel),
                                               g.group_in()};
        if (weights.bias != nullptr) {
            std::copy_n(
                weights.bias + filters.first, filters.count,
                reinterpret_cast<std::int32_t*>(packed + layout.bias_begin) + std::ptrdiff_t{panel} * layout.width);
        }
        auto* ends = reinterpret_cast<std::int32_t*>(packed) + std::ptrdiff_t{panel} * layout.most_parts;
        split_winograd_panel(layout, method, filters, codes, ends);

        auto* to = reinterpret_cast<std::int16_t*>(packed + layout.panels_begin +
                                                   static_cast<std::size_t>(panel) * layout.panel_bytes);
        for (int lane = 0; lane != filters.count; ++lane) {
            int begin = 0;
            for (const std::int32_t* end = ends; begin != layout.depth; begin = *end++) {
                for (int channel = begin; channel != *end; ++channel) {
                    int taps[3][3];
                    std::int16_t transformed[36];
                    filters.load(lane, channel, taps);
                    transform_winograd_filter(method, taps, transformed);
                    for (int position = 0; position != layout.positions; ++position)
                        to[layout.place(begin, *end, position, channel, lane)] = transformed[position];
                }
            }
        }
    }
}

/// The exact inverse of pack_winograd, given the same zero points.
template <class Arch, class Weight>
void unpack_winograd(const conv2d_geometry& g, const winograd_method& method, const std::int32_t* zero_points,
                     const std::byte* packed, Weight* values, std::int32_t* bias) {
    const winograd_weights<Arch> weights(g, method, packed);
    const winograd_layout<Arch>& layout = weights.layout;
    for (int panel = 0; panel != layout.panels; ++panel) {
        const int first = layout.first_channel(g, panel), count = layout.channels(g, panel);
        std::copy_n(weights.bias(panel), count, bias + first);
        for (int lane = 0; lane != count; ++lane) {
            const std::int32_t zero_point = zero_points == nullptr ? 0 : zero_points[first + lane];
            const std::int32_t* end = weights.ends(panel);
            for (int channel = 0, begin = 0; channel != g.group_in(); ++channel) {
                if (channel == *end) begin = *end++;
                int taps[3][3];
                std::int16_t transformed[36];
                for (int position = 0; position != layout.positions; ++position)
                    transformed[position] = weights.panel(panel)[layout.place(begin, *end, position, channel, lane)];
                recover_winograd_filter(method, transformed, taps);
                for (int tap = 0; tap != 9; ++tap) {
                    values[(std::ptrdiff_t{first + lane} * 9 + tap) * g.group_in() + channel] =
                        static_cast<Weight>(taps[tap / 3][tap % 3] + zero_point);
                }
            }
        }
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
