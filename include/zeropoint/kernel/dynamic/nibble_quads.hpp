// SPDX-License-Identifier: BSD-3-Clause
// Panels of 4-bit weights, `nibble_quads`: with a float16 scale for each group of inputs, and perhaps a minimum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/half_float.hpp>

// A panel has 32 channels whatever the vectors of an architecture are, so that a packed layer is the same on all of them. It is
// one stream of groups. A group has a step for each four inputs, [16 channels][4 bytes]: a byte has the code of one of the first 16
// channels in its low bits, and in its high bits that of the channel 16 further on, of the same input. So the product of a byte and
// the input is one channel's and 16 times the other's, and where products of bytes are exact nothing takes the two apart but
// one subtraction of sums. Then come 32 scales, and with minimums 32 of those.
//
// Codes are unsigned, 0 to 15. Without minimums weights are scale * (code - 8), with them scale * code - minimum.

namespace zp::inline v0::kernel {

inline constexpr int nibble_channels = 32, nibble_channels_of_half = nibble_channels / 2;

/// What scales of groups may be: float16 numbers that are normal, so that vectors which take denormals for zero have them too.
inline constexpr float least_group_scale = 0x1p-14f, largest_group_scale = 65504;

/// Where the parts of a packed layer lie: panels, then the bias [panel][32].
struct nibble_layout {
    int depth, channels, group;  ///< `group` inputs share a scale, a multiple of 32; the last ones perhaps fewer
    bool has_minimum;
    int groups, panels;  ///< groups of one channel
    std::size_t group_bytes, bias, bytes;

    constexpr nibble_layout(int inputs, int outputs, int group_size, bool minimum)
        : depth(inputs),
          channels(outputs),
          group(group_size),
          has_minimum(minimum),
          groups((inputs + group_size - 1) / group_size),
          panels((outputs + nibble_channels - 1) / nibble_channels),
          group_bytes(static_cast<std::size_t>(nibble_channels) *
                      (static_cast<std::size_t>(group_size) / 2 + (minimum ? 4 : 2))),
          bias(static_cast<std::size_t>(panels) * static_cast<std::size_t>(groups) * group_bytes),
          bytes(bias + sizeof(float) * nibble_channels * static_cast<std::size_t>(panels)) {}

    /// Of a row of codes of activations: zeros fill the last group.
    constexpr int padded_depth() const { return groups * group; }
    /// Where the scales of a group lie in it.
    constexpr std::size_t scales() const {
        return static_cast<std::size_t>(nibble_channels) * static_cast<std::size_t>(group / 2);
    }
    constexpr std::size_t minimums() const { return scales() + 2 * nibble_channels; }
    /// Where group `g` of a panel begins.
    constexpr std::size_t group_at(int panel, int g) const {
        return (static_cast<std::size_t>(panel) * static_cast<std::size_t>(groups) + static_cast<std::size_t>(g)) *
               group_bytes;
    }
    /// Where the byte of input `k` of a channel of the panel lies in its group, and in which of its halves.
    static constexpr int byte_of(int k, int channel) {
        return (k / 4 * nibble_channels_of_half + channel % nibble_channels_of_half) * 4 + k % 4;
    }
    static constexpr int shift_of(int channel) { return channel < nibble_channels_of_half ? 0 : 4; }
};

/// Packs codes [channels][depth] of 4 bits, signed or with `offsets` unsigned ones; scales [channels][groups], offsets (minus the
/// minimums) of as many, all float16 numbers; and a bias a channel.
inline void pack_nibbles(const nibble_layout& layout, const std::byte* codes, const float* scales, const float* offsets,
                         const float* bias, std::byte* packed) noexcept {
    std::memset(packed, 0, layout.bytes);
    std::memcpy(packed + layout.bias, bias, sizeof(float) * static_cast<std::size_t>(layout.channels));
    const unsigned flip = layout.has_minimum ? 0 : 8;
    for (int c = 0; c != layout.channels; ++c)
        for (int g = 0; g != layout.groups; ++g) {
            const int channel = c % nibble_channels, begin = g * layout.group,
                      end = std::min(begin + layout.group, layout.depth);
            std::byte* to = packed + layout.group_at(c / nibble_channels, g);
            for (int k = begin; k != end; ++k, ++codes) {
                const unsigned code = (std::to_integer<unsigned>(*codes) ^ flip) & 15u;  // of 4 signed bits: 8 more
                to[nibble_layout::byte_of(k - begin, channel)] |=
                    static_cast<std::byte>(code << nibble_layout::shift_of(channel));
            }
            const std::uint16_t scale = float16_from_float(*scales++);
            std::memcpy(to + layout.scales() + 2 * channel, &scale, sizeof scale);
            if (!layout.has_minimum) continue;
            const std::uint16_t minimum = float16_from_float(-*offsets++);
            std::memcpy(to + layout.minimums() + 2 * channel, &minimum, sizeof minimum);
        }
}

/// The inverse; `offsets` may be null where there are none.
inline void unpack_nibbles(const nibble_layout& layout, const std::byte* packed, std::byte* codes, float* scales,
                           float* offsets, float* bias) noexcept {
    std::memcpy(bias, packed + layout.bias, sizeof(float) * static_cast<std::size_t>(layout.channels));
    for (int c = 0; c != layout.channels; ++c)
        for (int g = 0; g != layout.groups; ++g) {
            const int channel = c % nibble_channels, begin = g * layout.group,
                      end = std::min(begin + layout.group, layout.depth);
            const std::byte* from = packed + layout.group_at(c / nibble_channels, g);
            for (int k = begin; k != end; ++k) {
                const int code = std::to_integer<int>(from[nibble_layout::byte_of(k - begin, channel)]) >>
                                     nibble_layout::shift_of(channel) &
                                 15;
                *codes++ = static_cast<std::byte>(layout.has_minimum ? code : code - 8);
            }
            std::uint16_t half;
            std::memcpy(&half, from + layout.scales() + 2 * channel, sizeof half);
            *scales++ = float_from_float16(half);
            if (!layout.has_minimum) continue;
            std::memcpy(&half, from + layout.minimums() + 2 * channel, sizeof half);
            *offsets++ = half == 0 ? 0.0f : -float_from_float16(half);
        }
}

}  // namespace zp::inline v0::kernel
