// SPDX-License-Identifier: BSD-3-Clause
// Panels of 4-bit weights times many rows: weights become bytes once for all of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/dynamic/nibble_quads.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

//   for each part of a panel's depth:                  multiply_nibble_rows
//       unpack: a byte each code, a float each scale       in the first-level cache
//       for each tile of rows:                             multiply_nibble_tile
//           for each group: integers, then totals + scale * integers
//
// Behind the eight products of bytes of 32 inputs come a conversion, a product and an addition of floats, each of which takes the
// place of a product. The conversion is saved: integers count from the bits of 3 * 2^22, where floats are one apart, so that
// those bits are the float 3 * 2^22 + S, and
//
//     s * S = s * (3 * 2^22 + S) - s * 3 * 2^22
//
// is one fused product, rounded once. s is a float16, of 11 bits, and the number that is taken off has 13.

namespace zp::inline v0::kernel {

/// How an architecture multiplies nibbles: by vectors of channels, where its floats are those of scalars and its vectors are not
/// wider than half a panel.
template <class Arch> constexpr bool has_nibble_vectors() {
    if constexpr (operations<Arch>::has_batches && has_ieee_vectors<Arch>)
        return nibble_channels_of_half % operations<Arch>::lanes == 0;
    else return false;
}

/// The rows of a tile of bytes, 0 where an architecture has none: they ask for exact quads and for fused products of floats.
template <class Arch>
inline constexpr int nibble_tile_rows = [] {
    if constexpr (has_nibble_vectors<Arch>() && requires { operations<Arch>::nibble_rows; })
        return operations<Arch>::nibble_rows;
    else return 0;
}();
/// The largest group of them, that of a part. Its sums are far below 2^22.
inline constexpr int largest_tile_group = 512;
/// Fewer rows are multiplied from nibbles.
inline constexpr int fewest_nibble_tile_rows = 25;

/// Up to so many blocks of 32 inputs the product of a minimum and a sum of codes needs no rounding: a float16 has 11 bits, and
/// 64 * 127 has 13.
inline constexpr int most_exact_minimum_blocks = 2;

/// Whether sums of a group count from the bits of a float.
template <class Arch, int Group>
inline constexpr bool counts_from_floats = nibble_tile_rows<Arch> != 0 && Group <= largest_tile_group;
/// The bits of 3 * 2^22, and of 3 * 2^18, where floats are a sixteenth apart.
inline constexpr std::int32_t float_of_sums = 0x4b400000, float_of_sixteenths = 0x49400000;

/// What sums begin with. Where products of bytes are exact, the sums L of low bits and B of whole bytes are of a channel and of
/// that one and 16 times another, whose sum is (B - L) / 16. Where sums count from the bits of floats, so does B - L, in
/// sixteenths, as long as the group is so small that floats of one power of two hold them.
template <class Arch, int Group> struct nibble_begins {
    static constexpr bool whole_bytes = operations<Arch>::quads == quad_products::exact,
                          from_floats = counts_from_floats<Arch, Group>,
                          both_from_floats = whole_bytes && from_floats && 15 * 127 * Group < 1 << 18;
    static constexpr std::int32_t low = from_floats ? float_of_sums : 0;
    /// Beyond what a sign holds, where both are bits of floats: sums of int32 wrap around.
    static constexpr auto both = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(low) + static_cast<std::uint32_t>(both_from_floats ? float_of_sixteenths : 0));
};

/// Of the codes of a row in a group: what sums of low bits and of whole bytes begin with, -8 and -8 * 17 times the sum of the codes
/// above what nibble_begins has; with minimums the bits of that sum as a float, and what is not read.
struct nibble_code_sums {
    std::int32_t low, both;

    float sum() const noexcept { return std::bit_cast<float>(low); }
};

/// Rows as the product reads them.
struct nibble_rows {
    const std::int8_t* codes;
    const nibble_code_sums* sums;  ///< [row][group]
    const float* scales;
};

/// Where outputs of a panel go, rows `pitch` apart, and what is added to them, which lies in the same way and may be the same
/// memory; null: nothing.
struct nibble_outputs {
    float* y;
    const float* added;
    std::ptrdiff_t pitch;
};

/// `blocks` times 32 inputs of a panel, or more of them in a part, as bytes [4 inputs][32 channels][4], and of each group the floats
/// s[32], -3 * 2^22 * s[32] and minimums[32].
struct nibble_part {
    static constexpr int blocks = 16, block_bytes = 32 * nibble_channels;
    alignas(64) std::uint8_t codes[blocks * block_bytes];
    alignas(64) float scales[blocks][3][nibble_channels];
};

/// `groups` groups of `blocks` blocks each.
template <class Arch, bool HasMinimum>
[[gnu::noinline]] void unpack_nibble_part(const std::byte* from, int groups, int blocks, nibble_part& to) noexcept {
    using ops = operations<Arch>;
    using uint8 = typename ops::uint8;
    using real = typename ops::real;
    constexpr int vectors = nibble_channels / ops::lanes;
    std::uint8_t* codes = to.codes;
    for (int g = 0; g != groups; ++g) {
        for (int step = 0; step != 8 * blocks; ++step, from += 2 * nibble_channels, codes += 4 * nibble_channels)
            repeat<vectors / 2>([&](int v) __attribute__((always_inline)) {
                const uint8 bytes =
                    ops::template load<uint8>(reinterpret_cast<const std::uint8_t*>(from) + v * ops::lanes * 4);
                ops::store(codes + v * ops::lanes * 4, uint8(bytes & uint8(15)));
                ops::store(codes + (v * ops::lanes + nibble_channels_of_half) * 4,
                           uint8(xsimd::bitwise_cast<std::uint8_t>(xsimd::bitwise_cast<std::uint16_t>(bytes) >> 4) &
                                 uint8(15)));
            });
        const auto* halves = reinterpret_cast<const std::uint16_t*>(from);
        repeat<vectors>([&](int v) __attribute__((always_inline)) {
            const real scale = ops::load_halves(halves + v * ops::lanes);
            ops::store(to.scales[g][0] + v * ops::lanes, scale);
            ops::store(to.scales[g][1] + v * ops::lanes, real(scale * real(-0x3p22f)));
            if constexpr (HasMinimum)
                ops::store(to.scales[g][2] + v * ops::lanes,
                           ops::load_halves(halves + nibble_channels + v * ops::lanes));
        });
        from += (HasMinimum ? 4 : 2) * nibble_channels;
    }
}

/// total - rounded(minimum * sum of codes). `IsExact` says that the product needs no rounding, so that it is one fused operation.
template <bool IsExact, class Real>
[[gnu::always_inline]] inline Real take_off_minimum(const Real& total, const Real& minimum, const Real& sum) noexcept {
    if constexpr (IsExact) return xsimd::fnma(sum, minimum, total);
    else return total - rounded(Real(sum * minimum));
}

/// What a tile multiplies of a part.
struct nibble_tile_part {
    const nibble_part* weights;
    int groups, blocks;            ///< blocks of a group
    const std::int8_t* codes;      ///< of the first row
    const nibble_code_sums* sums;  ///< the same
    std::ptrdiff_t pitch, sums_pitch;
    const std::byte* fetched;  ///< the tile's share of what comes next
    int fetched_lines;         ///< of it, before each group
};

/// totals[row][channel] + what the groups of a part add to them, for `Rows` rows. The last rows' totals are in registers, the
/// first ones', whose sums come first, in memory.
template <class Arch, bool HasMinimum, int Rows>
[[gnu::noinline]] void multiply_nibble_tile(const nibble_tile_part& part, float* totals) noexcept {
    using ops = operations<Arch>;
    using uint8 = typename ops::uint8;
    using int32 = typename ops::int32;
    using real = typename ops::real;
    constexpr int vectors = nibble_channels / ops::lanes, kept = std::min(Rows, ops::nibble_rows_in_registers),
                  in_memory = Rows - kept;
    const std::uint8_t* weights = part.weights->codes;
    const std::int8_t* codes = part.codes;
    const std::byte* fetched = part.fetched;
    const auto place = [&](int r, int v) __attribute__((always_inline)) {
        return totals + r * nibble_channels + v * ops::lanes;
    };
    real values[kept][vectors];
    repeat<kept>([&](int r) __attribute__((always_inline)) {
        repeat<vectors>([&](int v) __attribute__((always_inline)) {
            values[r][v] = ops::template load<real>(place(in_memory + r, v));
        });
    });
    for (int g = 0; g != part.groups; ++g) {
        for (int line = 0; line != part.fetched_lines; ++line, fetched += 64) __builtin_prefetch(fetched, 0, 2);
        int32 sums[Rows][vectors];
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
            const int32 begin(HasMinimum ? float_of_sums : part.sums[r * part.sums_pitch + g].low);
            repeat<vectors>([&](int v) __attribute__((always_inline)) { sums[r][v] = begin; });
            ops::fence(sums[r]);  // or g++ copies them in each step
        });
#pragma GCC unroll 2
        for (int step = 0; step != 8 * part.blocks; ++step, codes += 4, weights += 4 * nibble_channels) {
            uint8 w[vectors];
            repeat<vectors>([&](int v) __attribute__((always_inline)) {
                w[v] = ops::template load<uint8>(weights + v * ops::lanes * 4);
            });
            repeat<Rows>([&](int r) __attribute__((always_inline)) {
                const auto x = xsimd::bitwise_cast<std::int8_t>(
                    ops::broadcast(reinterpret_cast<const std::uint8_t*>(codes + r * part.pitch)));
                repeat<vectors>([&](int v) __attribute__((always_inline)) { ops::dot4(sums[r][v], w[v], x); });
                ops::fence(sums[r]);
            });
        }
        const float* numbers = part.weights->scales[g][0];
        // Asked for each vector: with a loop for either g++ spills.
        const bool is_exact = part.blocks <= most_exact_minimum_blocks;
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
            repeat<vectors>([&](int v) __attribute__((always_inline)) {
                const auto number = [&](int which) __attribute__((always_inline)) {
                    return ops::template load<real>(numbers + which * nibble_channels + v * ops::lanes);
                };
                real& own = values[std::max(r - in_memory, 0)][v];
                real total = r < in_memory ? ops::template load<real>(place(r, v)) : own;
                total = total + xsimd::fma(xsimd::bitwise_cast<float>(sums[r][v]), number(0), number(1));
                if constexpr (HasMinimum) {
                    const real sum(part.sums[r * part.sums_pitch + g].sum());
                    total = is_exact ? take_off_minimum<true>(total, number(2), sum)
                                     : take_off_minimum<false>(total, number(2), sum);
                }
                if (r < in_memory) ops::store(place(r, v), total);
                else own = total;
            });
        });
    }
    repeat<kept>([&](int r) __attribute__((always_inline)) {
        repeat<vectors>([&](int v)
                            __attribute__((always_inline)) { ops::store(place(in_memory + r, v), values[r][v]); });
    });
}

/// y = totals * scale + bias, and what is added, for `rows` rows of a panel. Channels past the last are not stored.
template <class Arch>
[[gnu::always_inline]] inline void finish_nibble_rows(float* totals, const float* row_scales, int rows, int channels,
                                                      const float* bias, const nibble_outputs& to) noexcept {
    using ops = operations<Arch>;
    using real = typename ops::real;
    const bool is_whole = channels == nibble_channels;
    for (int r = 0; r != rows; ++r, totals += nibble_channels) {
        const std::ptrdiff_t place = r * to.pitch;
        float* y = is_whole ? to.y + place : totals;
        repeat<nibble_channels / ops::lanes>([&](int v) __attribute__((always_inline)) {
            const int c = v * ops::lanes;
            const real total = ops::template load<real>(totals + c);
            real value = rounded(real(total * real(row_scales[r]))) + ops::template load<real>(bias + c);
            if (is_whole && to.added != nullptr) value = ops::template load<real>(to.added + place + c) + value;
            ops::store(y + c, value);
        });
        for (int c = 0; !is_whole && c != channels; ++c)
            to.y[place + c] = to.added == nullptr ? totals[c] : to.added[place + c] + totals[c];
    }
}

/// A panel times all rows.
template <class Arch, bool HasMinimum>
[[gnu::noinline]] void multiply_nibble_rows(const nibble_layout& layout, const std::byte* from, int channels,
                                            const nibble_rows& x, int rows, const float* bias,
                                            const nibble_outputs& to) noexcept {
    constexpr int most = nibble_tile_rows<Arch>, most_rows = 64;
    alignas(64) nibble_part part;
    alignas(64) float totals[most_rows * nibble_channels];
    const int blocks = layout.group / 32, most_groups = nibble_part::blocks / blocks;
    const std::ptrdiff_t depth = layout.padded_depth(), group_bytes = static_cast<std::ptrdiff_t>(layout.group_bytes);
    const int sections = (rows + most_rows - 1) / most_rows;
    for (int section = 0, first = 0; section != sections; ++section) {
        const int count = (rows - first + sections - section - 1) / (sections - section),
                  tiles = (count + most - 1) / most;
        std::fill_n(totals, count * nibble_channels, 0.0f);
        for (int g = 0; g < layout.groups; g += most_groups) {
            const int groups = std::min(most_groups, layout.groups - g);
            unpack_nibble_part<Arch, HasMinimum>(from + g * group_bytes, groups, blocks, part);
            // All tiles fetch as much as another: a core has few misses under way, and a burst of them is waited for.
            const std::byte* fetched = from + (g + groups) * group_bytes;
            const std::byte* fetched_end = fetched + groups * group_bytes;
            const int lines =
                static_cast<int>((groups * group_bytes / 64 + tiles * groups - 1) / (std::ptrdiff_t{tiles} * groups));
            for (int tile = 0, row = 0; tile != tiles; ++tile) {
                const int height = (count - row + tiles - tile - 1) / (tiles - tile);
                const std::ptrdiff_t at = first + row;
                const nibble_tile_part own{&part,
                                           groups,
                                           blocks,
                                           x.codes + at * depth + std::ptrdiff_t{g} * layout.group,
                                           x.sums + at * layout.groups + g,
                                           depth,
                                           layout.groups,
                                           fetched,
                                           fetched < fetched_end ? lines : 0};
                fetched += std::ptrdiff_t{64} * lines * groups;
                unroll<most>([&](auto less) __attribute__((always_inline)) {
                    if constexpr (2 * (less + 1) >= most)
                        if (height == less + 1)
                            multiply_nibble_tile<Arch, HasMinimum, less + 1>(own, totals + row * nibble_channels);
                });
                if (g + groups == layout.groups)
                    finish_nibble_rows<Arch>(
                        totals + row * nibble_channels, x.scales + at, height, channels, bias,
                        {to.y + at * to.pitch, to.added == nullptr ? nullptr : to.added + at * to.pitch, to.pitch});
                row += height;
            }
        }
        first += count;
    }
}

}  // namespace zp::inline v0::kernel
