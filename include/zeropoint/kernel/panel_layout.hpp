// How a packed convolution is laid out: panels of output channels, and beside each the kernel that is exact for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/gemm.hpp>
#include <zeropoint/kernel/geometry.hpp>

// A packed convolution:
//
//   kernel tags, one byte a panel; panel_details | bias, one int32 a channel of a panel | shuffles | residual places |
//   panel 0 | panel 1 | ... | residual quads
//
// each part at a 64-byte boundary.
//
// A panel holds panel_width channels of one group. Depth, in the order (ky, kx, channel), is cut into the runs that lie
// contiguously in a staged band, and each run is padded with zero weights to a multiple of 4. Within a panel:
//
//   byte_quads      [depth / 4][channel][4] int8      activations uint8, bias with the zero point folded in;
//                   [depth / 8][channel][8] where the architecture multiplies octets, the last quad of an odd run as above
//   windowed_quads  the same; panel_details::window quads can be added up in int16
//   residual_quads  the same, pairs that could saturate clipped; what was clipped is [channel][4] int8 for each quad
//                   that lost something, at the places listed; input channels may be shuffled
//   nibble_quads    as byte_quads, any weights; of one row, activations are split in two halves of 4 bits
//   widened_pairs   [depth / 2][channel][2] int8      activations int16 = x - x_zero_point
//   word_pairs      [depth / 2][channel][2] int16     the same, weights are w - w_zero_point
//
// Channels past the last have zero weights.

namespace zp {
inline namespace v0 {
namespace kernel {

/// How a panel is multiplied. All kinds are exact, and each is taken only where it is.
enum class panel_kernel : std::uint8_t {
    windowed_quads,
    byte_quads,
    residual_quads,
    nibble_quads,
    widened_pairs,
    word_pairs
};
inline constexpr int panel_kernels = 6;

constexpr const char* name_of(panel_kernel kernel) {
    switch (kernel) {
        case panel_kernel::windowed_quads: return "windowed_quads";
        case panel_kernel::byte_quads: return "byte_quads";
        case panel_kernel::residual_quads: return "residual_quads";
        case panel_kernel::nibble_quads: return "nibble_quads";
        case panel_kernel::widened_pairs: return "widened_pairs";
        case panel_kernel::word_pairs: return "word_pairs";
    }
    return "?";
}

/// Whether a panel is multiplied by uint8 activations rather than int16 ones.
constexpr bool takes_bytes(panel_kernel kernel) {
    return kernel != panel_kernel::widened_pairs && kernel != panel_kernel::word_pairs;
}

/// What a panel of quads needs beside its weights.
struct panel_details {
    std::uint8_t window = 1;    ///< windowed_quads: quads whose pair sums fit int16 together
    std::uint8_t shuffled = 0;  ///< residual_quads: whether channels are in the order of the panel's shuffle
    std::uint16_t residuals = 0;
    std::int32_t first_residual = 0;
};

/// The depth of a convolution as `count` contiguous runs of `length` products.
struct depth_runs {
    int count = 1, length = 1;

    constexpr int padded_length() const { return (length + 3) / 4 * 4; }
    constexpr int depth() const { return count * padded_length(); }
};

/// The taps of a kernel row lie side by side in a band unless they are dilated or see a part of the channels only.
constexpr depth_runs runs_of(const conv2d_geometry& g) {
    if (g.groups == 1 && g.dilation_width == 1) return {g.kernel_height, g.kernel_width * g.in.channels};
    return {g.taps(), g.group_in()};
}

/// Whether panels that could saturate are nibble_quads rather than widened_pairs: with one row a weight is widened for a
/// single product, and splitting the row costs little.
constexpr bool splits_activations(const conv2d_geometry& g) {
    return g.out.pixels() == 1 && g.taps() == 1 && g.group_in() >= 64;
}

/// Channels that a shuffle moves within: what one byte shuffle of the machine reaches.
inline constexpr int shuffle_block = 16;

/// How many panels share a shuffle; 0 where there are none. A shuffled copy of the input costs about 7 % of one panel's time where there is one
/// tap, and less where taps share it. The fewer the panels, the fewer pairs are bad; and the deeper they are, the rarer
/// are large weights, if the largest of each channel is 127.
constexpr int panels_of_a_shuffle(const conv2d_geometry& g) {
    if (g.groups != 1 || g.in.channels % 4 != 0 || g.in.channels < shuffle_block) return 0;
    const std::int64_t products = std::int64_t{g.out.height} * g.out.width * g.depth() * g.out.channels;
    if (products < 1 << 18) return 0;  // a copy's call costs more than it brings
    if (g.taps() > 1 || g.in.channels < 384) return 1;
    return g.in.channels < 1024 ? 2 : 4;
}

/// Where the parts of a packed convolution lie.
template <class Arch> struct panel_layout {
    static constexpr int width = panel_width<Arch>;

    depth_runs runs;
    int group_panels = 0, panels = 0;
    int residual_capacity = 0;  ///< residual quads that there is room for, of all panels
    int panel_residuals = 0;    ///< that one panel may have; more make it slower than widened_pairs
    int shuffle_panels = 0;     ///< consecutive panels that share a shuffle; 0 where there are none
    std::size_t details_begin = 0, bias_begin = 0, shuffles_begin = 0, shuffle_bytes = 0, places_begin = 0,
                panels_begin = 0, panel_bytes = 0, residuals_begin = 0, bytes = 0;

    constexpr panel_layout(const conv2d_geometry& g, bool affine)
        : runs(runs_of(g)), group_panels((g.group_out() + width - 1) / width), panels(group_panels * g.groups) {
        const auto count = static_cast<std::size_t>(panels), lanes = static_cast<std::size_t>(width);
        if (!affine && quads_saturate<Arch>) {
            const int quads = runs.depth() / 4;
            panel_residuals = std::min(quads / 5, 65535);
            residual_capacity = panels * std::max(quads / 12, std::min(quads / 5, 3));
            shuffle_panels = panels_of_a_shuffle(g);
        }
        const auto residuals = static_cast<std::size_t>(residual_capacity);
        details_begin = (count + 3) / 4 * 4;
        bias_begin = align_up(details_begin + count * sizeof(panel_details));
        shuffles_begin = bias_begin + align_up(count * lanes * sizeof(std::int32_t));
        shuffle_bytes = static_cast<std::size_t>(g.in.channels - g.in.channels % shuffle_block);
        places_begin = shuffles_begin;
        if (shuffle_panels != 0)
            places_begin += align_up(static_cast<std::size_t>((panels - 1) / shuffle_panels + 1) * shuffle_bytes);
        panels_begin = places_begin + align_up(residuals * sizeof(quad_place));
        panel_bytes = align_up(lanes * static_cast<std::size_t>(runs.depth()) *
                               (affine ? sizeof(std::int16_t) : sizeof(std::int8_t)));
        residuals_begin = panels_begin + count * panel_bytes;
        bytes = residuals_begin + align_up(residuals * lanes * 4);
    }

    /// One panel: output channels [first_channel, first_channel + channels) of a group.
    struct panel_position {
        int index, group, first_channel, channels;
    };
    /// Calls visit(panel_position) for each panel, in order.
    template <class Visit> constexpr void for_each_panel(const conv2d_geometry& g, Visit visit) const {
        for (int group = 0, index = 0; group != g.groups; ++group) {
            for (int channel = 0; channel < g.group_out(); channel += width, ++index) {
                visit(panel_position{index, group, group * g.group_out() + channel,
                                     std::min(g.group_out() - channel, width)});
            }
        }
    }
    /// The place of product `depth_index` (padding counted) of a channel in a panel with `group` products side by side.
    constexpr std::ptrdiff_t place(int depth_index, int channel, int group) const {
        if (has_octets<Arch> && group == 4) {
            const int element = depth_index % runs.padded_length(), octet = element / 8 * 8;
            if (octet + 8 <= runs.padded_length())
                return std::ptrdiff_t{depth_index - element + octet} * width + channel * 8 + element % 8;
        }
        return (std::ptrdiff_t{depth_index / group} * width + channel) * group + depth_index % group;
    }
    /// Where a quad lies in a window, from its first product's depth index.
    static constexpr quad_place place_in_window(const conv2d_geometry& g, const depth_runs& runs, int depth_index) {
        const int run = depth_index / runs.padded_length(), element = depth_index % runs.padded_length();
        const bool merged = runs.length != g.group_in();
        const int row = merged ? run : run / g.kernel_width;
        const int column = merged ? element / g.in.channels : run % g.kernel_width;
        return {static_cast<std::int16_t>(row), static_cast<std::int16_t>(column),
                merged ? element % g.in.channels : element};
    }
    /// Its inverse.
    static constexpr int depth_index(const conv2d_geometry& g, const depth_runs& runs, quad_place place) {
        const bool merged = runs.length != g.group_in();
        const int run = merged ? place.kernel_row : place.kernel_row * g.kernel_width + place.kernel_column;
        return run * runs.padded_length() + (merged ? place.kernel_column * g.in.channels : 0) + place.element;
    }
};

/// Reading a packed convolution; `Byte` is std::byte where it is being written.
template <class Arch, class Byte = const std::byte> struct packed_panels {
    template <class T> using pointer = std::conditional_t<std::is_const_v<Byte>, const T, T>*;

    panel_layout<Arch> layout;
    Byte* data;

    /// Whether weights are affine follows from the tags: all panels are `word_pairs`, or none is.
    packed_panels(const conv2d_geometry& g, Byte* packed)
        : packed_panels(g, static_cast<panel_kernel>(packed[0]) == panel_kernel::word_pairs, packed) {}
    packed_panels(const conv2d_geometry& g, bool affine, Byte* packed) : layout(g, affine), data(packed) {}

    panel_kernel kernel(int panel) const { return static_cast<panel_kernel>(data[panel]); }
    auto& details(int panel) const { return at<panel_details>(layout.details_begin)[panel]; }
    pointer<std::int32_t> bias(int panel) const {
        return at<std::int32_t>(layout.bias_begin) + std::ptrdiff_t{panel} * layout.width;
    }
    /// Which shuffle a panel takes, and where it stands: the channel of its block that comes to each byte.
    int shuffle_index(int panel) const { return layout.shuffle_panels == 0 ? 0 : panel / layout.shuffle_panels; }
    pointer<std::uint8_t> shuffle(int index) const {
        return at<std::uint8_t>(layout.shuffles_begin + static_cast<std::size_t>(index) * layout.shuffle_bytes);
    }
    /// Where residual quads lie in a window, and their weights, from the `first` on.
    pointer<quad_place> residual_places(int first) const { return at<quad_place>(layout.places_begin) + first; }
    pointer<std::int8_t> residuals(int first) const {
        return at<std::int8_t>(layout.residuals_begin) + std::ptrdiff_t{first} * 4 * layout.width;
    }
    template <class T> pointer<T> weights(int panel) const {
        return at<T>(layout.panels_begin + static_cast<std::size_t>(panel) * layout.panel_bytes);
    }

private:
    template <class T> pointer<T> at(std::size_t offset) const { return reinterpret_cast<pointer<T>>(data + offset); }
};

}  // namespace kernel
}  // namespace v0
}  // namespace zp
