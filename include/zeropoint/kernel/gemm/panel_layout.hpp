// SPDX-License-Identifier: BSD-3-Clause
// How a packed convolution is laid out: panels of output channels, and beside each the kernel that is exact for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

// A packed convolution:
//
//   kernel tags, one byte a panel; windows, the same | bias, one int32 a channel of a panel | panel 0 | panel 1 | ...
//
// each part at a 64-byte boundary.
//
// A panel holds panel_width channels of one group. Depth, in the order (ky, kx, channel), is cut into the runs that lie
// contiguously in a staged band, and each run is padded with zero weights to a multiple of 4. Within a panel:
//
//   byte_quads      [depth / 4][channel][4] int8      activations uint8, bias with the zero point folded in;
//                   [depth / 8][channel][8] where the architecture multiplies octets, the last quad of an odd run as above
//                   Where it multiplies whole tiles, all are 128 higher, padding and channels past the last as well.
//   windowed_quads  the same; as many quads as the panel's window says can be added up in int16
//   signed_quads    as byte_quads, any weights; activations int8 = x - center, as magnitudes and flips
//   widened_pairs   [depth / 2][channel][2] int8      activations int16 = x - x_zero_point
//   word_pairs      [depth / 2][channel][2] int16     the same, weights are w - w_zero_point
//
// Channels past the last have zero weights.

namespace zp::inline v0::kernel {

/// How a panel is multiplied. All kinds are exact, and each is taken only where it is.
enum class panel_kernel : std::uint8_t { windowed_quads, byte_quads, signed_quads, widened_pairs, word_pairs };
inline constexpr int panel_kernels = 5;

constexpr const char* name_of(panel_kernel kernel) {
    switch (kernel) {
        case panel_kernel::windowed_quads: return "windowed_quads";
        case panel_kernel::byte_quads: return "byte_quads";
        case panel_kernel::signed_quads: return "signed_quads";
        case panel_kernel::widened_pairs: return "widened_pairs";
        case panel_kernel::word_pairs: return "word_pairs";
    }
    return "?";
}

/// Activations as a panel is multiplied by them.
enum class panel_activations : std::uint8_t {
    unsigned_codes,  ///< bytes, see staged_shift
    centered_codes,  ///< int8, see center
    differences      ///< int16, from the zero point
};
constexpr panel_activations activations_of(panel_kernel kernel) {
    switch (kernel) {
        case panel_kernel::signed_quads: return panel_activations::centered_codes;
        case panel_kernel::widened_pairs:
        case panel_kernel::word_pairs: return panel_activations::differences;
        default: return panel_activations::unsigned_codes;
    }
}

/// What a panel's activations hold where x is the zero point.
template <class Arch> constexpr std::int32_t staged_zero_point(panel_kernel kernel, activation_codes codes) {
    switch (activations_of(kernel)) {
        case panel_activations::unsigned_codes: return codes.zero_point + staged_shift<Arch>(codes);
        case panel_activations::centered_codes: return codes.zero_point - center(codes);
        default: return 0;
    }
}

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

/// Whether pairs are faster than signed quads: where runs end in so much padding of their last quad, which pairs skip, or
/// where many pixels have so few products each that splitting their signs takes longer than that saves.
constexpr bool prefers_pairs(const conv2d_geometry& g) {
    const depth_runs runs = runs_of(g);
    const int pairs = (runs.length + 1) / 2 * 2;
    return 12 * (runs.padded_length() - pairs) > pairs || (runs.depth() <= 32 && g.out.pixels() > 64);
}

/// Where the parts of a packed convolution lie.
template <class Arch> struct panel_layout {
    static constexpr int width = panel_width<Arch>;

    depth_runs runs;
    int group_panels = 0, panels = 0;
    std::size_t bias_begin = 0, panels_begin = 0, panel_bytes = 0, bytes = 0;

    constexpr panel_layout(const conv2d_geometry& g, bool affine)
        : runs(runs_of(g)), group_panels((g.group_out() + width - 1) / width), panels(group_panels * g.groups) {
        const auto count = static_cast<std::size_t>(panels), lanes = static_cast<std::size_t>(width);
        bias_begin = align_up(2 * count);
        panels_begin = bias_begin + align_up(count * lanes * sizeof(std::int32_t));
        panel_bytes = align_up(lanes * static_cast<std::size_t>(runs.depth()) *
                               (affine ? sizeof(std::int16_t) : sizeof(std::int8_t)));
        bytes = panels_begin + count * panel_bytes;
        if constexpr (has_whole_tiles<Arch>) bytes += operations<Arch>::tile_slack;
    }

    /// One panel: output channels [first_channel, first_channel + channels) of a group.
    struct panel_position {
        int index, group, first_channel, channels;
    };
    /// Calls visit(panel_position) for each panel of the geometry's, in order.
    template <class Visit> constexpr void for_each_panel(const conv2d_geometry& g, Visit visit) const {
        for (int group = 0, index = 0; group != g.groups; ++group) {
            for (int channel = 0; channel < g.group_out(); channel += width, ++index) {
                if (index < g.panels.begin || index >= g.panels.end) continue;
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
    /// windowed_quads: how many quads; 1 for all other kinds, but 0 where codes of 16 bits are multiplied in parts.
    auto& window(int panel) const { return at<std::uint8_t>(static_cast<std::size_t>(layout.panels))[panel]; }
    pointer<std::int32_t> bias(int panel) const {
        return at<std::int32_t>(layout.bias_begin) + std::ptrdiff_t{panel} * layout.width;
    }
    template <class T> pointer<T> weights(int panel) const {
        return at<T>(layout.panels_begin + static_cast<std::size_t>(panel) * layout.panel_bytes);
    }

private:
    template <class T> pointer<T> at(std::size_t offset) const { return reinterpret_cast<pointer<T>>(data + offset); }
};

}  // namespace zp::inline v0::kernel
