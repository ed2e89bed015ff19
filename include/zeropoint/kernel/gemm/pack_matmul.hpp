// SPDX-License-Identifier: BSD-3-Clause
// Packing the second operand of a matrix product when the program runs: panels of pairs, or of quads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// Bytes as they are multiplied, and their zero point: `flip` is 128 where the sign bit changes.
struct flipped_codes {
    std::uint8_t flip;
    std::int32_t zero_point;

    template <class Code>
    constexpr flipped_codes(std::int32_t zero, bool wants_signed, Code) : flip(0), zero_point(zero) {
        if (std::is_signed_v<Code> == wants_signed) return;
        flip = 128;
        zero_point += wants_signed ? -128 : 128;
    }
};

/// to[i] = the bits of from[i], flipped; then zeros up to `length`. Gives the sum of the codes as Value.
template <class Value, class Code>
std::int32_t flip_row(const Code* from, int count, std::uint8_t flip, int length, std::uint8_t* to) noexcept {
    std::int32_t sum = 0;
    for (int i = 0; i != count; ++i) {
        to[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(from[i]) ^ flip);
        sum += static_cast<Value>(to[i]);
    }
    std::fill(to + count, to + length, std::uint8_t{0});
    return sum;
}

/// The place of a quad of a column in a panel of byte_quads, in bytes: see panel_layout.hpp.
template <class Arch> constexpr std::ptrdiff_t place_of_quad(int quad, int quads, int column) {
    constexpr std::ptrdiff_t width = panel_width<Arch>;
    if (has_octets<Arch> && (quad | 1) < quads) return (quad & ~1) * width * 4 + column * 8 + (quad & 1) * 4;
    return (quad * width + column) * 4;
}

/// Packs `count` columns of b[depth][columns] from `from` on as one panel of quads, and the sum of each column.
template <class Arch, class B>
[[gnu::noinline]] void pack_column_quads(const B* from, std::ptrdiff_t row_pitch, int depth, int count,
                                         std::uint8_t flip, std::uint8_t* panel, std::int32_t* sums) noexcept {
    using ops = operations<Arch>;
    constexpr int width = panel_width<Arch>;
    const int quads = (depth + 3) / 4;
    int column = 0;
    if constexpr (ops::has_batches) {
        using int32 = typename ops::int32;
        const int32 mask(0xff), offset(std::is_signed_v<B> ? 0 : -128);  // b' is int8
        for (; column + ops::lanes <= count; column += ops::lanes) {
            int32 sum(0);
            for (int quad = 0; quad != quads; ++quad) {
                int32 bytes(0);
                unroll<4>([&](auto i) __attribute__((always_inline)) {
                    const int k = 4 * quad + i;
                    if (k >= depth) return;
                    const int32 code = ops::load_lanes(from + k * row_pitch + column) + offset;
                    constexpr int shift = std::endian::native == std::endian::little ? 8 * i : 24 - 8 * i;
                    sum = sum + code;
                    bytes = bytes | ((code & mask) << shift);
                });
                if constexpr (!has_octets<Arch>) {
                    if constexpr (quad_flip<Arch> != 0) bytes = bytes ^ int32(INT32_C(-0x7f7f7f80));  // 0x80808080
                    ops::store(reinterpret_cast<std::int32_t*>(panel + place_of_quad<Arch>(quad, quads, column)),
                               bytes);
                } else {
                    std::int32_t lanes[ops::lanes];
                    ops::store(lanes, bytes);
                    for (int lane = 0; lane != ops::lanes; ++lane)
                        std::memcpy(panel + place_of_quad<Arch>(quad, quads, column + lane), lanes + lane, 4);
                }
            }
            ops::store(sums + column, sum);
        }
    }
    for (; column != width; ++column) {
        sums[column] = 0;
        for (int k = 0; k != 4 * quads; ++k) {
            const bool exists = column < count && k < depth;
            const auto bits =
                static_cast<std::uint8_t>(exists ? static_cast<std::uint8_t>(from[k * row_pitch + column]) ^ flip : 0);
            panel[place_of_quad<Arch>(k / 4, quads, column) + k % 4] =
                static_cast<std::uint8_t>(bits ^ quad_flip<Arch>);
            sums[column] += static_cast<std::int8_t>(bits);
        }
    }
}

/// The same of `count` rows of b[columns][depth]; `rows` is room for one panel. A quad of a row is moved as 32 bits.
template <class Arch, class B>
[[gnu::noinline]] void pack_row_quads(const B* from, std::ptrdiff_t row_pitch, int depth, int count, std::uint8_t flip,
                                      std::uint8_t* rows, std::uint8_t* panel, std::int32_t* sums) noexcept {
    using transposing = std::conditional_t<operations<Arch>::has_batches, Arch, portable>;
    constexpr int width = panel_width<Arch>;
    const int quads = (depth + 3) / 4, length = 4 * quads;
    for (int row = 0; row != width; ++row) {
        const std::ptrdiff_t first = std::ptrdiff_t{row} * length;
        sums[row] = flip_row<std::int8_t>(from + (row < count ? row * row_pitch : 0), row < count ? depth : 0, flip,
                                          length, rows + first);
    }
    if constexpr (has_octets<Arch>) {
        for (int row = 0; row != width; ++row)
            for (int quad = 0; quad != quads; ++quad)
                std::memcpy(panel + place_of_quad<Arch>(quad, quads, row),
                            rows + std::ptrdiff_t{row} * length + 4 * quad, 4);
    } else {
        if constexpr (quad_flip<Arch> != 0)
            for (std::ptrdiff_t i = 0; i != std::ptrdiff_t{width} * length; ++i)
                rows[i] = static_cast<std::uint8_t>(rows[i] ^ quad_flip<Arch>);
        transpose_matrix<std::int32_t, transposing>(reinterpret_cast<const std::int32_t*>(rows), std::size_t{width},
                                                    static_cast<std::size_t>(quads),
                                                    reinterpret_cast<std::int32_t*>(panel));
    }
}

/// Packs `count` columns of b[depth][columns] from `from` on as one panel of pairs.
template <class Arch, class B>
[[gnu::noinline]] void pack_columns(const B* from, std::ptrdiff_t row_pitch, int depth, int count,
                                    std::int32_t zero_point, std::int16_t* panel) noexcept {
    using ops = operations<Arch>;
    constexpr int width = panel_width<Arch>;
    for (int k = 0; k < depth; k += 2, from += 2 * row_pitch, panel += 2 * width) {
        const B* next = k + 1 != depth ? from + row_pitch : nullptr;
        int column = 0;
        if constexpr (ops::has_batches) {
            using int32 = typename ops::int32;
            const int32 offset(zero_point), mask(0xffff);
            for (; column + ops::lanes <= count; column += ops::lanes) {
                const int32 first = ops::load_lanes(from + column) - offset;
                const int32 second = next != nullptr ? ops::load_lanes(next + column) - offset : int32(0);
                const int32 pairs = std::endian::native == std::endian::little ? (first & mask) | (second << 16)
                                                                               : (second & mask) | (first << 16);
                ops::store(panel + 2 * column, xsimd::bitwise_cast<std::int16_t>(pairs));
            }
        }
        for (; column != count; ++column) {
            panel[2 * column] = static_cast<std::int16_t>(from[column] - zero_point);
            panel[2 * column + 1] =
                next == nullptr ? std::int16_t{0} : static_cast<std::int16_t>(next[column] - zero_point);
        }
        std::fill(panel + 2 * count, panel + 2 * width, std::int16_t{0});
    }
}

/// Packs `count` rows of b[columns][depth] from `from` on as one panel; `rows` is room for one. A pair of a row is moved
/// as one 32-bit value.
template <class Arch, class B>
[[gnu::noinline]] void pack_rows(const B* from, std::ptrdiff_t row_pitch, int depth, int count, std::int32_t zero_point,
                                 std::int16_t* rows, std::int16_t* panel) noexcept {
    using transposing = std::conditional_t<operations<Arch>::has_batches, Arch, portable>;
    constexpr int width = panel_width<Arch>;
    const std::ptrdiff_t length = (depth + 1) / 2 * 2;
    for (int row = 0; row != count; ++row) {
        operations<Arch>::widen(from + row * row_pitch, depth, zero_point, rows + row * length);
        if (length != depth) rows[row * length + depth] = 0;
    }
    std::fill(rows + count * length, rows + width * length, std::int16_t{0});
    transpose_matrix<std::int32_t, transposing>(reinterpret_cast<const std::int32_t*>(rows), std::size_t{width},
                                                static_cast<std::size_t>(length / 2),
                                                reinterpret_cast<std::int32_t*>(panel));
}

}  // namespace zp::inline v0::kernel
