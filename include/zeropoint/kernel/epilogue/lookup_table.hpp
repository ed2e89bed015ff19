// SPDX-License-Identifier: BSD-3-Clause
// Any function of one code as a table: of 256 entries for 8 bits, of more for the finer codes in front of a fused activation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// Entries of a table: entry i belongs to code i + lowest code, so i for std::uint8_t and i - 128 for std::int8_t.
inline constexpr int lookup_table_size = 256;

/// Fills a table with y = clamp(rne(function(x) * (1 / y_scale)) + y_zero_point, quant_min, quant_max), where x =
/// x_scale * (code - x_zero_point), which is exact in double, and all is computed in double; where the function gives
/// NaN, y_zero_point. `function` takes and returns double; the identity makes a table that changes the grid. The clamp
/// comes before the rounding, as in quantize(). Saved with a model, a table means the same integers under every libm.
/// A table of `bits` from 8 to 12 has 2^bits entries, 2^(bits - 8) for each code: entry i belongs to the real x_scale *
/// (i / 2^(bits - 8) + lowest code - x_zero_point).
template <code8 In, class Out, class Function>
constexpr void make_lookup_table(Function&& function, float x_scale, std::int32_t x_zero_point, float y_scale,
                                 std::int32_t y_zero_point, std::int32_t quant_min, std::int32_t quant_max, Out* table,
                                 int bits = 8) {
    const int parts = 1 << (bits - 8);
    const double inverse_scale = 1 / double{y_scale};
    const double low = static_cast<double>(quant_min) - y_zero_point,
                 high = static_cast<double>(quant_max) - y_zero_point;
    for (int i = 0; i != lookup_table_size * parts; ++i) {
        const int steps = i + parts * (std::numeric_limits<In>::min() - x_zero_point);
        const double scaled = function(double{x_scale} * steps / parts) * inverse_scale;
        const double number = scaled == scaled ? scaled : 0;
        const double clamped = number < low ? low : number > high ? high : number;
        table[i] = static_cast<Out>(round_half_even(clamped) + y_zero_point);
    }
}

/// The entries for `low` among 16 * 2^Bits of a table.
template <class Operations, int Bits>
[[gnu::always_inline]] inline typename Operations::uint8 choose_entry(
    const std::uint8_t* table, const typename Operations::uint8& low,
    const typename Operations::uint8 (&choice)[4]) noexcept {
    if constexpr (Bits == 0) {
        return Operations::shuffle16(Operations::broadcast16(table), low);
    } else {
        constexpr int half = 8 << Bits;
        return Operations::select_by_sign(choice[Bits - 1],
                                          choose_entry<Operations, Bits - 1>(table + half, low, choice),
                                          choose_entry<Operations, Bits - 1>(table, low, choice));
    }
}

/// table[x ^ Flip] for a vector of codes: all 16 entries that the lower four bits could mean, by shuffles, and the upper
/// four bits choose among them, one bit after the other.
template <class Operations, unsigned Flip>
[[gnu::always_inline]] inline typename Operations::uint8 look_up(const std::uint8_t* table,
                                                                 const typename Operations::uint8& x) noexcept {
    using bytes = typename Operations::uint8;
    bytes index = x;
    if constexpr (Flip != 0) index = x ^ bytes(Flip);
    const bytes low = index & bytes(15);
    // What bit 4 + i is, in bit 7.
    const bytes choice[4] = {Operations::template shift_left<3>(index), Operations::template shift_left<2>(index),
                             Operations::template shift_left<1>(index), index};
    return choose_entry<Operations, 4>(table, low, choice);
}

/// y[i] = table[x[i] - lowest code of In] for `count` codes. y may be x where the types are equal.
template <class Arch, code8 In, class Out>
void lookup_table(const In* x, std::size_t count, const Out* table, Out* y) noexcept {
    constexpr unsigned flip = std::is_signed_v<In> ? 128 : 0;  // code - lowest code = its bits with the sign flipped
    std::size_t i = 0;
    if constexpr (std::is_base_of_v<xsimd::avx512vbmi, Arch> && sizeof(Out) == 1) {
        // A byte shuffle over 64 entries: four of them are the table.
        using bytes = xsimd::batch<std::uint8_t, Arch>;
        std::array<bytes, 4> quarter;
        for (std::size_t q = 0; q != 4; ++q)
            quarter[q] = bytes::load_unaligned(reinterpret_cast<const std::uint8_t*>(table) + 64 * q);
        const bytes second(64), third(128), fourth(192), sign(static_cast<std::uint8_t>(flip));
        for (; i + bytes::size <= count; i += bytes::size) {
            const bytes index = bytes::load_unaligned(reinterpret_cast<const std::uint8_t*>(x + i)) ^ sign;
            const bytes lower =
                xsimd::select(index < second, xsimd::swizzle(quarter[0], index), xsimd::swizzle(quarter[1], index));
            const bytes upper =
                xsimd::select(index < fourth, xsimd::swizzle(quarter[2], index), xsimd::swizzle(quarter[3], index));
            xsimd::select(index < third, lower, upper).store_unaligned(reinterpret_cast<std::uint8_t*>(y + i));
        }
    } else if constexpr (operations<Arch>::has_byte_lookup && sizeof(Out) == 1) {
        using ops = operations<Arch>;
        using bytes = typename ops::uint8;
        const auto* entries = reinterpret_cast<const std::uint8_t*>(table);
        for (; i + bytes::size <= count; i += bytes::size)
            look_up<ops, flip>(entries, bytes::load_unaligned(reinterpret_cast<const std::uint8_t*>(x + i)))
                .store_unaligned(reinterpret_cast<std::uint8_t*>(y + i));
    } else {
        const auto entry = [=](In code) { return table[static_cast<std::uint8_t>(code) ^ flip]; };
        for (; i + 4 <= count; i += 4) {
            const Out first = entry(x[i]), second = entry(x[i + 1]), third = entry(x[i + 2]), fourth = entry(x[i + 3]);
            y[i] = first;
            y[i + 1] = second;
            y[i + 2] = third;
            y[i + 3] = fourth;
        }
    }
    for (; i != count; ++i) y[i] = table[static_cast<std::uint8_t>(x[i]) ^ flip];
}

/// x through `table` into `room`, or x itself for null: an operand on the output's grid has the output's type.
template <class Arch, code8 In, code8 Out>
[[gnu::always_inline]] inline const Out* codes_on_grid(const In* x, std::size_t count, const Out* table,
                                                       Out* room) noexcept {
    if constexpr (std::is_same_v<In, Out>)
        if (table == nullptr) return x;
    lookup_table<Arch>(x, count, table, room);
    return room;
}

/// Whether look_up_vectors() is there, and pays for so many vectors of places: it takes as long for one as for four.
template <class Arch, int Vectors>
inline constexpr bool looks_up_vectors = std::is_base_of_v<xsimd::avx512vbmi, Arch> && (Vectors == 3 || Vectors == 4);

/// table[place] of up to four vectors of places below 1024, in the order in which instructions pack them (arch/avx512bw.hpp): all 16 entries that
/// the lower six bits could mean, by shuffles, and the upper four choose among them.
template <class Arch, int Vectors, class Places>
    requires std::is_base_of_v<xsimd::avx512vbmi, Arch>
[[gnu::always_inline]] inline auto look_up_packed(const std::uint8_t* table, const Places (&places)[Vectors]) noexcept {
    using ops = operations<Arch>;
    using bytes = xsimd::batch<std::uint8_t, Arch>;
    typename ops::uint8 low, high;
    ops::split_words(places, low, high);
    const bytes index(low.data), upper(high.data);
    const auto bit6 = (index & bytes(64)) != bytes(0), bit7 = index >= bytes(128),
               bit8 = (upper & bytes(1)) != bytes(0), bit9 = upper >= bytes(2);
    const auto entries = [&](int q) __attribute__((always_inline)) {
        return xsimd::swizzle(bytes::load_unaligned(table + 64 * q), index);
    };
    const auto of128 = [&](int q) __attribute__((always_inline)) {
        return xsimd::select(bit6, entries(q + 1), entries(q));
    };
    const auto of256 = [&](int q) __attribute__((always_inline)) {
        return xsimd::select(bit7, of128(q + 2), of128(q));
    };
    const auto of512 = [&](int q) __attribute__((always_inline)) {
        return xsimd::select(bit8, of256(q + 4), of256(q));
    };
    return typename ops::uint8(xsimd::select(bit9, of512(8), of512(0)).data);
}

/// y[i] = the bits table[places[i]], of exactly 1024 entries, for the first `count` places of vectors.
template <class Arch, int Vectors, class Places, class Out>
[[gnu::always_inline]] inline void look_up_vectors(const std::uint8_t* table, const Places (&places)[Vectors],
                                                   int count, Out* y) noexcept {
    operations<Arch>::store_in_order(reinterpret_cast<std::uint8_t*>(y), look_up_packed<Arch>(table, places), count);
}

/// Whether look_up_fine() is there.
template <class Arch>
inline constexpr bool looks_up_fine = requires(const std::uint8_t* table,
                                               const typename operations<Arch>::int32 (&places)[4]) {
    operations<Arch>::look_up_fine(table, places);
};

/// The bits table[place], of exactly 1024 entries, of four vectors of places, in their order.
template <class Arch, class Places>
[[gnu::always_inline]] inline auto look_up_fine(const std::uint8_t* table, const Places (&places)[4]) noexcept {
    using ops = operations<Arch>;
    if constexpr (std::is_base_of_v<xsimd::avx512vbmi, Arch>) return ops::in_order(look_up_packed<Arch>(table, places));
    else return ops::look_up_fine(table, places);
}

/// y[i] = the bits table[places[i]] for `count` places, which may lie on either side of `table`.
template <class Out>
[[gnu::always_inline]] inline void look_up_places(const std::uint8_t* table, const std::int32_t* places, int count,
                                                  Out* y) noexcept {
    static_assert(sizeof(Out) == 1);
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        const std::uint8_t first = table[places[i]], second = table[places[i + 1]], third = table[places[i + 2]],
                           fourth = table[places[i + 3]];
        y[i] = static_cast<Out>(first);
        y[i + 1] = static_cast<Out>(second);
        y[i + 2] = static_cast<Out>(third);
        y[i + 3] = static_cast<Out>(fourth);
    }
    for (; i < count; ++i) y[i] = static_cast<Out>(table[places[i]]);
}

}  // namespace zp::inline v0::kernel
