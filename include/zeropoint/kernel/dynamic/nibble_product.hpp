// SPDX-License-Identifier: BSD-3-Clause
// Products of rows of floats, quantized as they come to int8, and 4-bit weights with a scale for each group of inputs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/dynamic/nibble_quads.hpp>
#include <zeropoint/kernel/dynamic/nibble_tiles.hpp>
#include <zeropoint/kernel/dynamic/symmetric_codes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// With S the sum of x * w over the inputs of a group, an integer that a float holds, and s its scale,
//
//     y[row][c] = x_scale[row] * (((0 + s[c][0] * S[0]) + s[c][1] * S[1]) + ...) + bias[c]
//
// group by group, every product and every sum rounded to float, in this order: the same bits on every architecture. Weights are
// w = u - 8, u of 4 bits, so that S is the sum of x * u less 8 times the sum of x, one number of a row and a group. With
// minimums m, S is the sum of x * u, and m times the sum of x is taken off behind each s * S.
//
// u is the unsigned operand of byte products: 32 of them are at most 8 * 2 * 15 * 127 in each of the int16 sums of pairs, and
// so need no check.

namespace zp {
inline namespace v0 {
namespace kernel {

/// The largest group whose sums floats hold: 127 * 15 * 8192 is below 2^24.
inline constexpr int largest_nibble_group = 8192;

/// Where the parts of the scratch of `rows` rows lie: codes [rows][padded depth], sums of codes [rows][groups], scales.
struct nibble_scratch {
    std::size_t sums, scales, bytes;

    constexpr nibble_scratch(const nibble_layout& layout, int rows)
        : sums(align_up(static_cast<std::size_t>(rows) * static_cast<std::size_t>(layout.padded_depth()))),
          scales(sums + align_up(4 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(layout.groups))),
          bytes(scales + align_up(4 * static_cast<std::size_t>(rows))) {}
};

/// Quantizes rows of `layout.depth` floats, each with a symmetric scale of its own: see symmetric_scale(). A row with NaN or
/// infinity has a scale of NaN. Sums of weights without minimums are `begin` higher.
template <class Arch>
nibble_rows quantize_nibble_rows(const nibble_layout& layout, const float* x, int rows, std::byte* scratch,
                                 std::int32_t begin = 0) noexcept {
    const nibble_scratch parts(layout, rows);
    auto* codes = reinterpret_cast<std::int8_t*>(scratch);
    auto* sums = reinterpret_cast<std::int32_t*>(scratch + parts.sums);
    auto* scales = reinterpret_cast<float*>(scratch + parts.scales);
    const auto depth = static_cast<std::size_t>(layout.depth), padded = static_cast<std::size_t>(layout.padded_depth());
    for (int row = 0; row != rows; ++row, x += depth) {
        std::int8_t* to = codes + static_cast<std::size_t>(row) * padded;
        scales[row] = symmetric_scale(largest_magnitude<Arch>(x, depth));
        symmetric_codes<Arch>(x, depth, scales[row], 0, reinterpret_cast<std::uint8_t*>(to));
        std::memset(to + depth, 0, padded - depth);
        for (int g = 0; g != layout.groups; ++g, ++sums) {
            std::int32_t sum = 0;
            for (const std::int8_t* end = to + layout.group; to != end; to += 32)
                for (int i = 0; i != 32; ++i) sum += to[i];
            *sums = layout.has_minimum ? std::bit_cast<std::int32_t>(static_cast<float>(sum)) : begin - 8 * sum;
        }
    }
    return {codes, reinterpret_cast<const std::int32_t*>(scratch + parts.sums), scales};
}

/// The most rows of a tile: sums of a tile are integers and floats.
template <class Arch> inline constexpr int most_nibble_rows = std::clamp(operations<Arch>::tile_rows * 2 / 3, 1, 6);

/// Sums of `Vectors` vectors of channels and `Rows` rows over 32 inputs, added to `sums`, from steps of 8 inputs.
template <class Ops, int Rows, int Vectors>
[[gnu::always_inline]] inline void add_nibble_block(typename Ops::int32 (&sums)[Rows][Vectors], const std::byte* steps,
                                                    const std::int8_t* codes, std::ptrdiff_t pitch) noexcept {
    using uint8 = typename Ops::uint8;
    using int8 = typename Ops::int8;
    using int16 = typename Ops::int16;
    constexpr bool by_pairs = Ops::quads == quad_products::saturating_pairs,
                   by_words = Ops::quads == quad_products::none;
    // High bits that stay where they are are codes 16 times as large, which saves a shift of each vector.
    constexpr bool are_apart = Rows == 1 && Ops::quads == quad_products::exact;
    using sum_type = std::conditional_t<by_pairs, int16, typename Ops::int32>;
    sum_type own[Rows][Vectors];
    if constexpr (by_pairs || are_apart)
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
            repeat<Vectors>([&](int v) __attribute__((always_inline)) { own[r][v] = sum_type(0); });
        });
    const auto load_quad = [](const std::int8_t* from) __attribute__((always_inline)) {
        std::int32_t bytes;
        std::memcpy(&bytes, from, sizeof bytes);
        return xsimd::bitwise_cast<std::int8_t>(typename Ops::int32(bytes));
    };
    repeat<4>([&](int step) __attribute__((always_inline)) {
        uint8 low[Vectors], high[Vectors];
        repeat<Vectors>([&](int v) __attribute__((always_inline)) {
            const uint8 bytes = Ops::template load<uint8>(reinterpret_cast<const std::uint8_t*>(steps) +
                                                          (step * nibble_channels + v * Ops::lanes) * 4);
            low[v] = bytes & uint8(15);
            if constexpr (are_apart) high[v] = bytes & uint8(0xf0);
            else
                high[v] = xsimd::bitwise_cast<std::uint8_t>(xsimd::bitwise_cast<std::uint16_t>(bytes) >> 4) & uint8(15);
        });
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
            const int8 first = load_quad(codes + r * pitch + 8 * step),
                       second = load_quad(codes + r * pitch + 8 * step + 4);
            repeat<Vectors>([&](int v) __attribute__((always_inline)) {
                if constexpr (by_pairs) {
                    Ops::add_pair_sums(own[r][v], low[v], first);
                    Ops::add_pair_sums(own[r][v], high[v], second);
                    if constexpr (Rows > 1) Ops::keep(own[r][v]);  // or g++ multiplies first, and spills
                } else if constexpr (by_words) {
                    // The words of a lane are its even bytes, then its odd ones.
                    const auto add = [&](const uint8& u, const int8& x) __attribute__((always_inline)) {
                        const int16 weights = xsimd::bitwise_cast<std::int16_t>(u),
                                    pair = xsimd::bitwise_cast<std::int16_t>(x);
                        Ops::dot2(sums[r][v], int16((pair << 8) >> 8), int16(weights & int16(std::int16_t{15})));
                        Ops::dot2(sums[r][v], int16(pair >> 8), int16(weights >> 8));
                    };
                    add(low[v], first);
                    add(high[v], second);
                } else if constexpr (are_apart) {
                    Ops::dot4(sums[r][v], low[v], first);
                    Ops::dot4(own[r][v], high[v], second);
                } else {
                    Ops::dot4(sums[r][v], low[v], first);
                    Ops::dot4(sums[r][v], high[v], second);
                    if constexpr (Rows > 1) Ops::keep(sums[r][v]);
                }
            });
        });
    });
    if constexpr (by_pairs || are_apart)
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
            repeat<Vectors>([&](int v) __attribute__((always_inline)) {
                if constexpr (by_pairs) Ops::add_widened(sums[r][v], own[r][v]);
                else Ops::add(sums[r][v], own[r][v] >> 4);
            });
        });
}

/// `Rows` rows times `Vectors` vectors of channels, from vector `first` of panel `from` on. `bias` and `to` begin with the panel's
/// channels, `x` and `to` with the rows. The first tile of a panel fetches what comes: the hardware alone
/// follows one stream too slowly.
template <class Arch, int Group, bool HasMinimum, int Rows, int Vectors>
[[gnu::always_inline]] inline void nibble_tile(const nibble_layout& layout, const std::byte* from, int first,
                                               bool fetches, const nibble_rows& x, const float* bias,
                                               const nibble_outputs& to) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    using real = typename ops::real;
    constexpr int ahead = 4096, blocks = Group / 32;
    constexpr bool from_floats = counts_from_floats<Arch, Group>;
    constexpr std::ptrdiff_t block_bytes = 16 * nibble_channels;
    constexpr std::ptrdiff_t group_bytes = blocks * block_bytes + (HasMinimum ? 4 : 2) * nibble_channels;
    const std::ptrdiff_t depth = layout.padded_depth();
    const int channel = first * ops::lanes;
    real totals[Rows][Vectors];
    for (auto& row : totals)
        for (real& total : row) total = real(0.0f);
    const std::int8_t* codes = x.codes;
    for (int g = 0; g != layout.groups; ++g, from += group_bytes) {
        if (fetches)
            for (std::ptrdiff_t i = 0; i < group_bytes; i += 64) __builtin_prefetch(from + ahead + i);
        int32 sums[Rows][Vectors];
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
            const int32 begin(!HasMinimum ? x.sums[r * layout.groups + g] : from_floats ? float_of_sums : 0);
            repeat<Vectors>([&](int v) __attribute__((always_inline)) { sums[r][v] = begin; });
        });
        if constexpr (blocks == 1) {
            add_nibble_block<ops>(sums, from + 4 * channel, codes, depth);
        } else {
            for (int block = 0; block != blocks; ++block)
                add_nibble_block<ops>(sums, from + block * block_bytes + 4 * channel, codes + 32 * block, depth);
        }
        codes += Group;
        const auto* scales = reinterpret_cast<const std::uint16_t*>(from + blocks * block_bytes) + channel;
        repeat<Vectors>([&](int v) __attribute__((always_inline)) {
            const real scale = ops::load_halves(scales + v * ops::lanes);
            [[maybe_unused]] const real offset = scale * real(-0x3p22f);
            repeat<Rows>([&](int r) __attribute__((always_inline)) {
                if constexpr (from_floats)
                    totals[r][v] = totals[r][v] + xsimd::fma(xsimd::bitwise_cast<float>(sums[r][v]), scale, offset);
                else totals[r][v] = totals[r][v] + rounded(real(xsimd::to_float(sums[r][v]) * scale));
            });
            if constexpr (HasMinimum) {
                const real minimum = ops::load_halves(scales + nibble_channels + v * ops::lanes);
                repeat<Rows>([&](int r) __attribute__((always_inline)) {
                    totals[r][v] = take_off_minimum<blocks <= most_exact_minimum_blocks>(
                        totals[r][v], minimum, real(code_sum(x.sums + r * layout.groups + g)));
                });
            }
        });
    }
    for (int r = 0; r != Rows; ++r)
        for (int v = 0; v != Vectors; ++v) {
            const int at = channel + v * ops::lanes;
            const std::ptrdiff_t place = r * to.pitch + at;
            const real value = rounded(real(totals[r][v] * real(x.scales[r]))) + ops::template load<real>(bias + at);
            if (to.added == nullptr) ops::store(to.y + place, value);
            else ops::store(to.y + place, real(ops::template load<real>(to.added + place) + value));
        }
}

/// The same of one row and a whole panel, without vectors.
template <int Group, bool HasMinimum>
void nibble_tile_of_scalars(const nibble_layout& layout, const std::byte* from, const nibble_rows& x, const float* bias,
                            const nibble_outputs& to) noexcept {
    float totals[nibble_channels] = {};
    const std::int8_t* codes = x.codes;
    for (int g = 0; g != layout.groups; ++g, from += layout.group_bytes, codes += Group) {
        std::int32_t sums[nibble_channels];
        std::fill_n(sums, nibble_channels, HasMinimum ? 0 : x.sums[g]);
        for (int k = 0; k != Group; k += 8)
            for (int c = 0; c != nibble_channels; ++c)
                for (int i = 0; i != 4; ++i) {
                    const int pair = std::to_integer<int>(from[nibble_layout::byte_of(k + i, c)]);
                    sums[c] += (pair & 15) * codes[k + i] + (pair >> 4) * codes[k + i + 4];
                }
        const auto* scales = reinterpret_cast<const std::uint16_t*>(from + layout.scales());
        for (int c = 0; c != nibble_channels; ++c) {
            totals[c] = totals[c] + rounded(static_cast<float>(sums[c]) * float_from_float16(scales[c]));
            if constexpr (HasMinimum)
                totals[c] = totals[c] - rounded(code_sum(x.sums + g) * float_from_float16(scales[nibble_channels + c]));
        }
    }
    for (int c = 0; c != nibble_channels; ++c) {
        const float value = rounded(totals[c] * *x.scales) + bias[c];
        to.y[c] = to.added == nullptr ? value : to.added[c] + value;
    }
}

/// A panel times `Rows` rows.
template <class Arch, int Group, bool HasMinimum, int Rows>
void nibble_panel(const nibble_layout& layout, const std::byte* from, bool fetches, const nibble_rows& x,
                  const float* bias, const nibble_outputs& to) noexcept {
    if constexpr (!has_nibble_vectors<Arch>()) {
        nibble_tile_of_scalars<Group, HasMinimum>(layout, from, x, bias, to);
    } else {
        constexpr int vectors = nibble_channels / operations<Arch>::lanes,
                      at_once = std::min(Rows == 1 ? 4 : 2, vectors);
        for (int first = 0; first != vectors; first += at_once)
            nibble_tile<Arch, Group, HasMinimum, Rows, at_once>(layout, from, first, fetches && first == 0, x, bias,
                                                                to);
    }
}

/// y[rows][channels] of x[rows][depth], as said above; with `added`, rows that lie as y does and may be y, added + that. `scratch` has nibble_scratch::bytes bytes, 64-byte aligned; `Group` and
/// `HasMinimum` are the layout's.
template <class Arch, int Group, bool HasMinimum>
[[gnu::noinline]] void nibble_product(const nibble_layout& layout, const float* x, int rows, const std::byte* packed,
                                      float* y, std::byte* scratch, const float* added = nullptr) noexcept {
    static_assert(Group % 32 == 0 && Group <= largest_nibble_group);
    constexpr int most = has_nibble_vectors<Arch>() ? most_nibble_rows<Arch> : 1;
    const nibble_rows all =
        quantize_nibble_rows<Arch>(layout, x, rows, scratch, counts_from_floats<Arch, Group> ? float_of_sums : 0);
    const auto* bias = reinterpret_cast<const float*>(packed + layout.bias);
    // As few tiles as rows allow, of nearly equal heights.
    const int tiles = (rows + most - 1) / most;
    float whole[most * nibble_channels];  // outputs of a panel that has fewer channels
    for (int panel = 0; panel != layout.panels; ++panel, bias += nibble_channels) {
        const std::byte* from = packed + layout.group_at(panel, 0);
        const int begin = panel * nibble_channels, channels = std::min(nibble_channels, layout.channels - begin);
        if constexpr (counts_from_floats<Arch, Group>)
            if (rows >= fewest_nibble_tile_rows) {
                multiply_nibble_rows<Arch, HasMinimum>(
                    layout, from, channels, all, rows, bias,
                    {y + begin, added == nullptr ? nullptr : added + begin, layout.channels});
                continue;
            }
        for (int tile = 0, row = 0; tile != tiles; ++tile) {
            const int count = (rows - row + tiles - tile - 1) / (tiles - tile);
            const nibble_rows own{all.codes + std::ptrdiff_t{row} * layout.padded_depth(),
                                  all.sums + std::ptrdiff_t{row} * layout.groups, all.scales + row};
            const std::ptrdiff_t at = std::ptrdiff_t{row} * layout.channels + begin;
            const bool is_whole = channels == nibble_channels;
            const nibble_outputs to =
                is_whole ? nibble_outputs{y + at, added == nullptr ? nullptr : added + at, layout.channels}
                         : nibble_outputs{whole, nullptr, nibble_channels};
            unroll<most>([&](auto height) __attribute__((always_inline)) {
                if (count == height + 1)
                    nibble_panel<Arch, Group, HasMinimum, height + 1>(layout, from, tile == 0, own, bias, to);
            });
            for (int r = 0; r != count && !is_whole; ++r)
                for (int c = 0; c != channels; ++c) {
                    const float value = whole[r * nibble_channels + c];
                    const std::ptrdiff_t place = at + std::ptrdiff_t{r} * layout.channels + c;
                    y[place] = added == nullptr ? value : added[place] + value;
                }
            row += count;
        }
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
