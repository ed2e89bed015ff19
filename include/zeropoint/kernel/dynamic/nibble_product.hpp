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
#include <zeropoint/kernel/geometry/conv2d.hpp>
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

namespace zp::inline v0::kernel {

/// The largest group whose sums floats hold: 127 * 15 * 8192 is below 2^24.
inline constexpr int largest_nibble_group = 8192;

/// Where the parts of the scratch of `rows` rows lie: codes [rows][padded depth], their sums [rows][groups], scales.
struct nibble_scratch {
    std::size_t sums, scales, bytes;

    constexpr nibble_scratch(const nibble_layout& layout, int rows)
        : sums(align_up(static_cast<std::size_t>(rows) * static_cast<std::size_t>(layout.padded_depth()))),
          scales(sums + align_up(sizeof(nibble_code_sums) * static_cast<std::size_t>(rows) *
                                 static_cast<std::size_t>(layout.groups))),
          bytes(scales + align_up(4 * static_cast<std::size_t>(rows))) {}
};

/// Quantizes rows of `layout.depth` floats, each with a symmetric scale of its own: see symmetric_scale(). A row with NaN or
/// infinity has a scale of NaN.
template <class Arch, class Begins>
nibble_rows quantize_nibble_rows(const nibble_layout& layout, const float* x, int rows, std::byte* scratch) noexcept {
    const nibble_scratch parts(layout, rows);
    auto* codes = reinterpret_cast<std::int8_t*>(scratch);
    auto* sums = reinterpret_cast<nibble_code_sums*>(scratch + parts.sums);
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
            *sums = layout.has_minimum ? nibble_code_sums{std::bit_cast<std::int32_t>(static_cast<float>(sum)), 0}
                                       : nibble_code_sums{Begins::low - 8 * sum, Begins::both - 17 * 8 * sum};
        }
    }
    return {codes, reinterpret_cast<const nibble_code_sums*>(scratch + parts.sums), scales};
}

/// The most rows of a tile: sums of a tile are integers and floats.
template <class Arch> inline constexpr int most_nibble_rows = std::clamp(operations<Arch>::tile_rows * 2 / 3, 1, 6);

/// Sums of a group, [row][vector of channels]: those of the low bits, then those of the high ones.
template <class Ops, int Rows, int Pairs> struct nibble_sums { typename Ops::int32 of[Rows][2 * Pairs]; };

/// Where `Groups` groups read their weights and codes, one group behind another, and rows of codes lie `pitch` apart.
struct nibble_operands {
    const std::byte* steps;
    std::ptrdiff_t group_bytes;
    const std::int8_t* codes;
    std::ptrdiff_t group_codes, pitch;
};

/// Sums of `Groups` groups, `Rows` rows and `Pairs` vectors of channels of either half of a panel over 32 inputs, added to `sums`, from
/// steps of 4 inputs. Where products of bytes are exact, sums of whole bytes are in the place of those of the high bits.
template <class Ops, int Groups, int Rows, int Pairs>
[[gnu::always_inline]] inline void add_nibble_block(nibble_sums<Ops, Rows, Pairs> (&sums)[Groups],
                                                    const nibble_operands& from) noexcept {
    using uint8 = typename Ops::uint8;
    using int8 = typename Ops::int8;
    using int16 = typename Ops::int16;
    constexpr bool by_pairs = Ops::quads == quad_products::saturating_pairs,
                   by_words = Ops::quads == quad_products::none, whole_bytes = Ops::quads == quad_products::exact;
    constexpr int vectors = 2 * Pairs, count = Groups * Rows * vectors;
    [[maybe_unused]] int16 own[count];
    if constexpr (by_pairs) repeat<count>([&](int i) __attribute__((always_inline)) { own[i] = int16(0); });
#pragma GCC unroll 8
    for (int step = 0; step != 8; ++step) {
        uint8 w[Groups * vectors];
#pragma GCC unroll 64
        for (int i = 0; i != Groups * Pairs; ++i) {
            const int g = i / Pairs, v = i % Pairs;
            const uint8 bytes =
                Ops::template load<uint8>(reinterpret_cast<const std::uint8_t*>(from.steps + g * from.group_bytes) +
                                          (step * nibble_channels_of_half + v * Ops::lanes) * 4);
            w[g * vectors + v] = bytes & uint8(15);
            if constexpr (whole_bytes) w[g * vectors + Pairs + v] = bytes;
            else
                w[g * vectors + Pairs + v] =
                    xsimd::bitwise_cast<std::uint8_t>(xsimd::bitwise_cast<std::uint16_t>(bytes) >> 4) & uint8(15);
        }
        int8 x;
#pragma GCC unroll 64
        for (int i = 0; i != count; ++i) {
            const int g = i / vectors / Rows, r = i / vectors % Rows, v = i % vectors;
            if (v == 0) {
                std::int32_t quad;
                std::memcpy(&quad, from.codes + g * from.group_codes + r * from.pitch + 4 * step, sizeof quad);
                x = xsimd::bitwise_cast<std::int8_t>(typename Ops::int32(quad));
            }
            const uint8 u = w[g * vectors + v];
            auto& sum = sums[g].of[r][v];
            if constexpr (by_pairs) {
                Ops::add_pair_sums(own[i], u, x);
                if constexpr (Rows > 1) Ops::keep(own[i]);  // or g++ multiplies first, and spills
            } else if constexpr (by_words) {
                // The words of a lane are its even bytes, then its odd ones.
                const int16 weights = xsimd::bitwise_cast<std::int16_t>(u), pair = xsimd::bitwise_cast<std::int16_t>(x);
                Ops::dot2(sum, int16((pair << 8) >> 8), int16(weights & int16(std::int16_t{15})));
                Ops::dot2(sum, int16(pair >> 8), int16(weights >> 8));
            } else {
                Ops::dot4(sum, u, x);
                if constexpr (Rows > 1) Ops::keep(sum);
            }
        }
    }
    if constexpr (by_pairs)
        repeat<count>([&](int i) __attribute__((always_inline)) {
            Ops::add_widened(sums[i / vectors / Rows].of[i / vectors % Rows][i % vectors], own[i]);
        });
}

/// Fetches what comes behind `groups` groups: the hardware alone follows one stream too slowly. Where whole bytes are multiplied,
/// two lines a group, far ahead, set the hardware on its way; all of them took 8.7 us for 6.9 of 1024x1024 in the second-level cache,
/// and nothing less from memory.
template <bool IsSparse>
[[gnu::always_inline]] inline void fetch_nibbles(const std::byte* from, int groups,
                                                 std::ptrdiff_t group_bytes) noexcept {
    constexpr std::ptrdiff_t ahead = IsSparse ? 16384 : 4096;
    const std::ptrdiff_t end = groups * (IsSparse ? 128 : group_bytes);
    for (std::ptrdiff_t i = 0; i < end; i += 64) __builtin_prefetch(from + ahead + i);
}

/// `Rows` rows times `Pairs` vectors of channels of either half of panel `from`, from vector `first` on. `bias` and `to` begin with
/// the panel's channels, `x` and `to` with the rows. The first tile of a panel fetches what comes.
template <class Arch, int Group, bool HasMinimum, int Rows, int Pairs>
[[gnu::always_inline]] inline void nibble_tile(const nibble_layout& layout, const std::byte* from, int first,
                                               bool fetches, const nibble_rows& x, const float* bias,
                                               const nibble_outputs& to) noexcept {
    using ops = operations<Arch>;
    using int32 = typename ops::int32;
    using real = typename ops::real;
    using begins = nibble_begins<Arch, Group>;
    // Few rows have so few sums that each product would wait for the one before: groups take turns.
    constexpr int blocks = Group / 32,
                  at_once = begins::whole_bytes ? std::max(ops::sums_in_flight / (Rows * 2 * Pairs), 1) : 1;
    constexpr std::ptrdiff_t block_bytes = 16 * nibble_channels;
    constexpr std::ptrdiff_t group_bytes = blocks * block_bytes + (HasMinimum ? 4 : 2) * nibble_channels;
    const std::ptrdiff_t depth = layout.padded_depth(), groups = layout.groups;
    const auto channel_of = [&](int v) __attribute__((always_inline)) {
        return (first + v % Pairs) * ops::lanes + v / Pairs * nibble_channels_of_half;
    };
    real totals[Rows][2 * Pairs];
    for (auto& row : totals)
        for (real& total : row) total = real(0.0f);
    const auto begin_group = [&](nibble_sums<ops, Rows, Pairs> & sums, std::ptrdiff_t g)
        __attribute__((always_inline)) {
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
            const nibble_code_sums& codes_of = x.sums[r * groups + g];
            const int32 low(HasMinimum ? begins::low : codes_of.low);
            const int32 high(!begins::whole_bytes ? (HasMinimum ? 0 : codes_of.low)
                             : HasMinimum         ? begins::both
                                                  : codes_of.both);
            repeat<Pairs>([&](int v) __attribute__((always_inline)) {
                sums.of[r][v] = low;
                sums.of[r][Pairs + v] = high;
            });
            if constexpr (begins::whole_bytes) ops::fence(sums.of[r]);  // or g++ keeps what begins in scalars
        });
    };
    const auto finish_group = [&](nibble_sums<ops, Rows, Pairs> & sums, const std::byte* group, std::ptrdiff_t g)
        __attribute__((always_inline)) {
        if constexpr (begins::whole_bytes)
            repeat<Rows>([&](int r) __attribute__((always_inline)) {
                repeat<Pairs>([&](int v) __attribute__((always_inline)) {
                    int32& high = sums.of[r][Pairs + v];
                    high = high - sums.of[r][v];
                    if constexpr (!begins::both_from_floats) high = (high >> 4) + int32(begins::low);
                });
            });
        const auto* scales = reinterpret_cast<const std::uint16_t*>(group + blocks * block_bytes);
        repeat<2 * Pairs>([&](int v) __attribute__((always_inline)) {
            const real scale = ops::load_halves(scales + channel_of(v));
            [[maybe_unused]] const real offset =
                scale * real(v >= Pairs && begins::both_from_floats ? -0x3p18f : -0x3p22f);
            repeat<Rows>([&](int r) __attribute__((always_inline)) {
                if constexpr (begins::from_floats)
                    totals[r][v] = totals[r][v] + xsimd::fma(xsimd::bitwise_cast<float>(sums.of[r][v]), scale, offset);
                else totals[r][v] = totals[r][v] + rounded(real(xsimd::to_float(sums.of[r][v]) * scale));
            });
            if constexpr (HasMinimum) {
                const real minimum = ops::load_halves(scales + nibble_channels + channel_of(v));
                repeat<Rows>([&](int r) __attribute__((always_inline)) {
                    totals[r][v] = take_off_minimum<blocks <= most_exact_minimum_blocks>(
                        totals[r][v], minimum, real(x.sums[r * groups + g].sum()));
                });
            }
        });
    };
    const std::int8_t* codes = x.codes;
    const auto add_groups = [&]<int Groups>(std::ptrdiff_t g, std::integral_constant<int, Groups>)
        __attribute__((always_inline)) {
        if (fetches) fetch_nibbles<begins::whole_bytes>(from, Groups, group_bytes);
        nibble_sums<ops, Rows, Pairs> sums[Groups];
        repeat<Groups>([&](int i) __attribute__((always_inline)) { begin_group(sums[i], g + i); });
        nibble_operands operands{from + 4 * first * ops::lanes, group_bytes, codes, Group, depth};
        for (int block = 0; block != blocks; ++block, operands.steps += block_bytes, operands.codes += 32)
            add_nibble_block(sums, operands);
        repeat<Groups>([&](int i)
                           __attribute__((always_inline)) { finish_group(sums[i], from + i * group_bytes, g + i); });
        from += Groups * group_bytes;
        codes += Groups * Group;
    };
    std::ptrdiff_t g = 0;
    for (; g + at_once <= groups; g += at_once) add_groups(g, std::integral_constant<int, at_once>());
    if constexpr (at_once > 1)
        for (; g != groups; ++g) add_groups(g, std::integral_constant<int, 1>());
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
        repeat<2 * Pairs>([&](int v) __attribute__((always_inline)) {
            const int at = channel_of(v);
            const std::ptrdiff_t place = r * to.pitch + at;
            const real value = rounded(real(totals[r][v] * real(x.scales[r]))) + ops::template load<real>(bias + at);
            if (to.added == nullptr) ops::store(to.y + place, value);
            else ops::store(to.y + place, real(ops::template load<real>(to.added + place) + value));
        });
    });
}

/// The same of one row and a whole panel, without vectors.
template <int Group, bool HasMinimum>
void nibble_tile_of_scalars(const nibble_layout& layout, const std::byte* from, const nibble_rows& x, const float* bias,
                            const nibble_outputs& to) noexcept {
    float totals[nibble_channels] = {};
    const std::int8_t* codes = x.codes;
    for (int g = 0; g != layout.groups; ++g, from += layout.group_bytes, codes += Group) {
        std::int32_t sums[nibble_channels];
        std::fill_n(sums, nibble_channels, HasMinimum ? 0 : x.sums[g].low);
        for (int k = 0; k != Group; ++k)
            for (int c = 0; c != nibble_channels; ++c)
                sums[c] +=
                    (std::to_integer<int>(from[nibble_layout::byte_of(k, c)]) >> nibble_layout::shift_of(c) & 15) *
                    codes[k];
        const auto* scales = reinterpret_cast<const std::uint16_t*>(from + layout.scales());
        for (int c = 0; c != nibble_channels; ++c) {
            totals[c] = totals[c] + rounded(static_cast<float>(sums[c]) * float_from_float16(scales[c]));
            if constexpr (HasMinimum)
                totals[c] = totals[c] - rounded(x.sums[g].sum() * float_from_float16(scales[nibble_channels + c]));
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
        constexpr int vectors = nibble_channels_of_half / operations<Arch>::lanes,
                      at_once = std::min(Rows == 1 ? 2 : 1, vectors);
        for (int first = 0; first != vectors; first += at_once)
            nibble_tile<Arch, Group, HasMinimum, Rows, at_once>(layout, from, first, fetches && first == 0, x, bias,
                                                                to);
    }
}

/// y[rows][channels] of x[rows][depth], as said above; with `added`, rows that lie as y does and may be y, added + that. `scratch` has
/// nibble_scratch::bytes bytes, 64-byte aligned; `Group` and `HasMinimum` are the layout's. Of `panels`, of 32 channels each, alone,
/// others' outputs are left as they are.
template <class Arch, int Group, bool HasMinimum>
[[gnu::noinline]] void nibble_product(const nibble_layout& layout, const float* x, int rows, const std::byte* packed,
                                      float* y, std::byte* scratch, const float* added = nullptr,
                                      panel_range panels = {}) noexcept {
    static_assert(Group % 32 == 0 && Group <= largest_nibble_group);
    constexpr int most = has_nibble_vectors<Arch>() ? most_nibble_rows<Arch> : 1;
    const nibble_rows all = quantize_nibble_rows<Arch, nibble_begins<Arch, Group>>(layout, x, rows, scratch);
    const auto* bias =
        reinterpret_cast<const float*>(packed + layout.bias) + std::ptrdiff_t{panels.begin} * nibble_channels;
    // As few tiles as rows allow, of nearly equal heights.
    const int tiles = (rows + most - 1) / most;
    float whole[most * nibble_channels];  // outputs of a panel that has fewer channels
    for (int panel = panels.begin; panel < panels.end_of(layout.panels); ++panel, bias += nibble_channels) {
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

}  // namespace zp::inline v0::kernel
