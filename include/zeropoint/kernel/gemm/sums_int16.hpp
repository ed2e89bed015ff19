// SPDX-License-Identifier: BSD-3-Clause
// Weights of a convolution as they come, and when int32 holds their sums with codes of 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

// Products of int16 codes with weights of at most 9 bits are summed in int32, by the kernels of pairs that 8-bit codes take as
// well. A sum of so many products may need more than that. It does not where
//
//     2^15 * sum |w| + |bias| <= 2^31 - 1
//
// which is decided for each panel from its actual weights, as they are packed. All other panels are multiplied in parts of
// so few products that int32 holds them whatever the weights are, and the parts are added up in int64.

namespace zp::inline v0::kernel {

/// Weights as they come: OHWI with in.channels / groups innermost.
template <class Weight> struct conv2d_weights {
    static_assert(std::is_same_v<Weight, std::int8_t> || std::is_same_v<Weight, std::uint8_t>,
                  "conv2d_weights<Weight>: Weight must be std::int8_t or std::uint8_t");
    const Weight* values = nullptr;             // the codes
    const std::int32_t* zero_points = nullptr;  ///< one an output channel; null: all 0
    const std::int32_t* bias = nullptr;         ///< one an output channel, at scale x_scale * w_scale; null: all 0
    const std::int64_t* int64_bias = nullptr;   ///< the same beside codes of 16 bits, which never have `bias`

    /// Whether w - zero_point needs more than 8 bits: such weights are packed as int16.
    constexpr bool affine() const { return std::is_same_v<Weight, std::uint8_t> || zero_points != nullptr; }
    /// The bias of a channel beside activations of 16 bits; 0 without.
    constexpr std::int64_t int64_bias_of(int channel) const { return int64_bias == nullptr ? 0 : int64_bias[channel]; }
};

/// Products of a code of 16 bits and a weight of 9 that int32 holds the sum of: 2^15 * 255 * 256 < 2^31.
inline constexpr int most_int16_products = 256;

/// Whether int32 holds bias + sum x * w of an output channel for all codes of 16 bits; `depth` products an output.
template <class Weight> bool int16_sums_fit(const conv2d_weights<Weight>& weights, int depth, int channel) {
    const std::int64_t bias = weights.int64_bias_of(channel), limit = std::numeric_limits<std::int32_t>::max();
    if (bias > limit || bias < -limit) return false;
    const std::int32_t zero_point = weights.zero_points == nullptr ? 0 : weights.zero_points[channel];
    const Weight* from = weights.values + std::ptrdiff_t{channel} * depth;
    std::int64_t sum = 0;
    for (int i = 0; i != depth; ++i) sum += from[i] < zero_point ? zero_point - from[i] : from[i] - zero_point;
    return 32768 * sum + (bias < 0 ? -bias : bias) <= limit;
}

}  // namespace zp::inline v0::kernel
