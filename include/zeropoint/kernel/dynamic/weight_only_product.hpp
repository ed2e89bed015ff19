// SPDX-License-Identifier: BSD-3-Clause
// Products of float activations and integer weights of 8 or 4 bits, with a scale for each group of inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/float/reproducible_product.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// Weights lie in panels of 16 channels. A bundle of 32 bits holds those of one channel and 4 or 8 inputs, the first in its
// lowest bits: a shift up and a shift down widen one with its sign, in every vector there is. Lanes are channels, so that
// sums run along the inputs in one order, and have the same bits on every architecture. The layout does not depend on it.

namespace zp::inline v0::kernel {

inline constexpr int weight_only_channels = 16;

/// Where the parts of a packed layer lie: bundles, then scales [panel][group][16], then the bias [panel][16].
struct weight_only_layout {
    int depth, channels, bits, group;  ///< `group` inputs share a scale, the last ones perhaps fewer
    int panels, bundles, groups;       ///< bundles and groups of one channel
    std::size_t scales, bias, bytes;

    constexpr weight_only_layout(int inputs, int outputs, int weight_bits, int group_size)
        : depth(inputs),
          channels(outputs),
          bits(weight_bits),
          group(group_size),
          panels((outputs + weight_only_channels - 1) / weight_only_channels),
          bundles((inputs + 32 / weight_bits - 1) / (32 / weight_bits)),
          groups((inputs + group_size - 1) / group_size),
          scales(align_up(std::size_t{4} * weight_only_channels * static_cast<std::size_t>(panels) *
                          static_cast<std::size_t>(bundles))),
          bias(scales + align_up(std::size_t{4} * weight_only_channels * static_cast<std::size_t>(panels) *
                                 static_cast<std::size_t>(groups))),
          bytes(bias + align_up(std::size_t{4} * weight_only_channels * static_cast<std::size_t>(panels))) {}
};

/// Packs codes [channels][depth], scales [channels][groups] and a bias a channel.
inline void pack_weight_only(const weight_only_layout& layout, const std::int8_t* codes, const float* scales,
                             const float* bias, std::byte* packed) noexcept {
    const int per_bundle = 32 / layout.bits;
    const std::uint32_t mask = 0xffffffffu >> (32 - layout.bits);
    std::memset(packed, 0, layout.bytes);
    auto* bundles = reinterpret_cast<std::uint32_t*>(packed);
    auto* to_scale = reinterpret_cast<float*>(packed + layout.scales);
    auto* to_bias = reinterpret_cast<float*>(packed + layout.bias);
    for (int c = 0; c != layout.channels; ++c) {
        const std::ptrdiff_t panel = c / weight_only_channels, lane = c % weight_only_channels;
        for (int k = 0; k != layout.depth; ++k) {
            const auto code = static_cast<std::uint32_t>(codes[std::ptrdiff_t{c} * layout.depth + k]) & mask;
            bundles[(panel * layout.bundles + k / per_bundle) * weight_only_channels + lane] |=
                code << k % per_bundle * layout.bits;
        }
        for (int g = 0; g != layout.groups; ++g)
            to_scale[(panel * layout.groups + g) * weight_only_channels + lane] =
                scales[std::ptrdiff_t{c} * layout.groups + g];
        to_bias[panel * weight_only_channels + lane] = bias[c];
    }
}

/// The inverse.
inline void unpack_weight_only(const weight_only_layout& layout, const std::byte* packed, std::int8_t* codes,
                               float* scales, float* bias) noexcept {
    const int per_bundle = 32 / layout.bits, up = 32 - layout.bits;
    const auto* bundles = reinterpret_cast<const std::uint32_t*>(packed);
    const auto* from_scales = reinterpret_cast<const float*>(packed + layout.scales);
    const auto* from_bias = reinterpret_cast<const float*>(packed + layout.bias);
    for (int c = 0; c != layout.channels; ++c) {
        const std::ptrdiff_t panel = c / weight_only_channels, lane = c % weight_only_channels;
        for (int k = 0; k != layout.depth; ++k) {
            const std::uint32_t bundle =
                bundles[(panel * layout.bundles + k / per_bundle) * weight_only_channels + lane];
            const auto top = static_cast<std::int32_t>(bundle >> k % per_bundle * layout.bits << up);
            *codes++ = static_cast<std::int8_t>(top >> up);
        }
        for (int g = 0; g != layout.groups; ++g)
            *scales++ = from_scales[(panel * layout.groups + g) * weight_only_channels + lane];
        *bias++ = from_bias[panel * weight_only_channels + lane];
    }
}

/// Vector types by name, for architectures that have none too.
template <class Arch> struct float_vector { using type = xsimd::batch<float, Arch>; };
template <class Number> struct bundle_vector { using type = std::int32_t; };
template <class Arch> struct bundle_vector<xsimd::batch<float, Arch>> {
    using type = xsimd::batch<std::int32_t, Arch>;
};

/// Weight number `index` of each bundle as a float.
template <class Number, int Bits, class Bundle>
[[gnu::always_inline]] inline Number widened_weight(const Bundle& bundle, int index) noexcept {
    const Bundle weight = (bundle << (32 - Bits * (index + 1))) >> (32 - Bits);
    if constexpr (std::is_same_v<Number, float>) return static_cast<float>(weight);
    else return xsimd::to_float(weight);
}

/// `Rows` rows times one panel, into 16 values a row.
template <class Number, int Bits, int Rows>
[[gnu::always_inline]] inline void weight_only_tile(const weight_only_layout& layout, float_rows x,
                                                    const std::int32_t* bundles, const float* scales, const float* bias,
                                                    float* y) noexcept {
    constexpr int size = numbers_in<Number>, vectors = weight_only_channels / size, per_bundle = 32 / Bits;
    using bundle_type = typename bundle_vector<Number>::type;
    Number totals[Rows][vectors];
    for (int v = 0; v != vectors; ++v)
        for (int r = 0; r != Rows; ++r) totals[r][v] = load_number<Number>(bias + v * size);
    for (int begin = 0; begin < layout.depth; begin += layout.group, scales += weight_only_channels) {
        const int end = std::min(begin + layout.group, layout.depth);
        Number sums[Rows][vectors];
        for (int v = 0; v != vectors; ++v)
            for (int r = 0; r != Rows; ++r) sums[r][v] = Number(0.0f);
        const auto add = [&](int k, int index) __attribute__((always_inline)) {
            Number value[Rows];
            repeat<Rows>([&](int r) __attribute__((always_inline)) { value[r] = Number(x.values[r * x.pitch + k]); });
            unroll<vectors>([&](auto v) __attribute__((always_inline)) {
                bundle_type bundle;
                if constexpr (std::is_same_v<Number, float>) bundle = bundles[v];
                else bundle = bundle_type::load_unaligned(bundles + v * size);
                const Number weight = widened_weight<Number, Bits>(bundle, index);
                repeat<Rows>([&](int r) __attribute__((always_inline)) {
                    sums[r][v] = sums[r][v] + rounded(Number(value[r] * weight));
                });
            });
        };
        int k = begin;
        for (; k + per_bundle <= end; k += per_bundle, bundles += weight_only_channels)
            repeat<per_bundle>([&](int index) __attribute__((always_inline)) { add(k + index, index); });
        if (k != end) {
            for (int index = 0; k != end; ++k, ++index) add(k, index);
            bundles += weight_only_channels;
        }
        for (int v = 0; v != vectors; ++v)
            for (int r = 0; r != Rows; ++r)
                totals[r][v] = totals[r][v] + rounded(Number(sums[r][v] * load_number<Number>(scales + v * size)));
    }
    for (int v = 0; v != vectors; ++v)
        for (int r = 0; r != Rows; ++r) store_number(totals[r][v], y + r * weight_only_channels + v * size);
}

/// y[row][c] = (bias[c] + s[c][0] * (x[row][0] * w[c][0] + ...)) + s[c][1] * (...) + ..., group by group, every product and
/// every sum rounded to float, in this order; the sums of a group begin with zero. Of `panels`, of 16 channels each, alone, others' outputs
/// are left as they are.
template <class Arch, int Bits>
[[gnu::noinline]] void weight_only_product(const weight_only_layout& layout, const float* x, int rows,
                                           const std::byte* packed, float* y, panel_range panels = {}) noexcept {
    constexpr int together = 4;
    constexpr bool has_whole_panels = [] {
        if constexpr (has_ieee_vectors<Arch>) return weight_only_channels % xsimd::batch<float, Arch>::size == 0;
        else return false;
    }();
    using Number = typename std::conditional_t<has_whole_panels, float_vector<Arch>, std::type_identity<float>>::type;
    for (int panel = panels.begin; panel < panels.end_of(layout.panels); ++panel) {
        const auto* bundles = reinterpret_cast<const std::int32_t*>(packed) +
                              std::ptrdiff_t{panel} * layout.bundles * weight_only_channels;
        const auto* scales = reinterpret_cast<const float*>(packed + layout.scales) +
                             std::ptrdiff_t{panel} * layout.groups * weight_only_channels;
        const auto* bias = reinterpret_cast<const float*>(packed + layout.bias) + panel * weight_only_channels;
        const int first = panel * weight_only_channels,
                  channels = std::min(weight_only_channels, layout.channels - first);
        float tile[together * weight_only_channels];
        for (int row = 0; row != rows;) {
            const float_rows from{x + std::ptrdiff_t{row} * layout.depth, layout.depth};
            const int count = rows - row >= together ? together : 1;
            if (count == together) weight_only_tile<Number, Bits, together>(layout, from, bundles, scales, bias, tile);
            else weight_only_tile<Number, Bits, 1>(layout, from, bundles, scales, bias, tile);
            for (int r = 0; r != count; ++r, ++row)
                std::copy_n(tile + r * weight_only_channels, channels,
                            y + std::ptrdiff_t{row} * layout.channels + first);
        }
    }
}

}  // namespace zp::inline v0::kernel
