// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels in plain C++, for any machine and, with odd sizes, for testing the loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/kernel/arch/contract.hpp>

namespace zp::inline v0::kernel {

/// contract.hpp says what each member means; here is what it does.
template <int Rows, int Lanes, int Vectors> struct portable_operations {
    static constexpr const char* name = "portable";
    static constexpr int tile_rows = Rows, vectors = Vectors, lanes = Lanes;
    static constexpr int sums_in_flight = 2;
    static constexpr bool has_batches = false;
    static constexpr quad_products quads = quad_products::exact;
    static constexpr double byte_products = 20, word_products = 5;
    static constexpr bool has_byte_lookup = false;

    template <class T, int Size> struct vector { T value[Size]; };
    using int32 = vector<std::int32_t, Lanes>;
    using int16 = vector<std::int16_t, 2 * Lanes>;
    using int8 = vector<std::int8_t, 4 * Lanes>;
    using uint8 = vector<std::uint8_t, 4 * Lanes>;

    template <class Vector, class T> [[gnu::always_inline]] static Vector load(const T* from) {
        Vector loaded;
        constexpr int size = sizeof(loaded.value) / sizeof(T);
        static_assert(sizeof(loaded.value[0]) == sizeof(T));
#pragma GCC unroll 64
        for (int i = 0; i != size; ++i) loaded.value[i] = from[i];
        return loaded;
    }
    template <class T, int Size> [[gnu::always_inline]] static void store(T* to, const vector<T, Size>& from) {
#pragma GCC unroll 64
        for (int i = 0; i != Size; ++i) to[i] = from.value[i];
    }

    /// 2 * Lanes int8 weights as int16.
    static int16 load_widened(const std::int8_t* from) {
        int16 loaded;
        for (int i = 0; i != 2 * Lanes; ++i) loaded.value[i] = from[i];
        return loaded;
    }

    /// The next depth pair (quad) of one activation row, for all lanes.
    static vector<std::int16_t, 2> broadcast(const std::int16_t* from) { return {{from[0], from[1]}}; }
    static vector<std::uint8_t, 4> broadcast(const std::uint8_t* from) {
        return {{from[0], from[1], from[2], from[3]}};
    }

    /// sums[lane] += a[0] * b[2 * lane] + a[1] * b[2 * lane + 1], modulo 2^32
    static void dot2(int32& sums, const vector<std::int16_t, 2>& a, const int16& b) {
        for (int i = 0; i != Lanes; ++i) {
            add_wrapping(sums.value[i], a.value[0] * b.value[2 * i] + a.value[1] * b.value[2 * i + 1]);
        }
    }
    static void dot2(int32& sums, const int16& a, const int16& b) {
        for (int i = 0; i != Lanes; ++i) {
            add_wrapping(sums.value[i], a.value[2 * i] * b.value[2 * i] + a.value[2 * i + 1] * b.value[2 * i + 1]);
        }
    }
    /// sums[lane] += a[0] * b[4 * lane] + ... + a[3] * b[4 * lane + 3]
    static void dot4(int32& sums, const vector<std::uint8_t, 4>& a, const int8& b) {
        for (int i = 0; i != Lanes; ++i) {
            std::int32_t dot = 0;
            for (int k = 0; k != 4; ++k) dot += a.value[k] * b.value[4 * i + k];
            add_wrapping(sums.value[i], dot);
        }
    }
    /// sums[lane] += a[4 * lane] * b[4 * lane] + ... + a[4 * lane + 3] * b[4 * lane + 3]
    static void dot4(int32& sums, const uint8& a, const int8& b) {
        for (int i = 0; i != Lanes; ++i) {
            std::int32_t dot = 0;
            for (int k = 0; k != 4; ++k) dot += a.value[4 * i + k] * b.value[4 * i + k];
            add_wrapping(sums.value[i], dot);
        }
    }
    /// dot4 of int8 weights whose bits are flipped where `flips` are 0xff, not 0
    static void dot4_flipped(int32& sums, const vector<std::uint8_t, 4>& a, const vector<std::uint8_t, 4>& flips,
                             const std::int8_t* b) {
        for (int i = 0; i != Lanes; ++i) {
            std::int32_t dot = 0;
            for (int k = 0; k != 4; ++k) dot += a.value[k] * static_cast<std::int8_t>(b[4 * i + k] ^ flips.value[k]);
            add_wrapping(sums.value[i], dot);
        }
    }
    /// sums[lane] += more, modulo 2^32
    static void add(int32& sums, std::int32_t more) {
        for (int i = 0; i != Lanes; ++i) add_wrapping(sums.value[i], more);
    }
    /// sums[lane] += more[lane], modulo 2^32
    static void add(int32& sums, const int32& more) {
        for (int i = 0; i != Lanes; ++i) add_wrapping(sums.value[i], more.value[i]);
    }
    /// The sums of pairs that dot4 adds up, in int16 lanes: a[0] * b[4 * lane] + a[1] * b[4 * lane + 1], and the other
    /// half of the quad.
    static int16 pair_sums(const vector<std::uint8_t, 4>& a, const int8& b) {
        int16 sums;
        for (int i = 0; i != 2 * Lanes; ++i) {
            const int first = i % 2 * 2;
            sums.value[i] =
                static_cast<std::int16_t>(a.value[first] * b.value[2 * i] + a.value[first + 1] * b.value[2 * i + 1]);
        }
        return sums;
    }
    static void add_pair_sums(int16& sums, const vector<std::uint8_t, 4>& a, const int8& b) {
        const int16 more = pair_sums(a, b);
        for (int i = 0; i != 2 * Lanes; ++i) sums.value[i] = static_cast<std::int16_t>(sums.value[i] + more.value[i]);
    }
    /// sums[lane] += both int16 of the lane
    static void add_widened(int32& sums, const int16& pairs) {
        for (int i = 0; i != Lanes; ++i) add_wrapping(sums.value[i], pairs.value[2 * i] + pairs.value[2 * i + 1]);
    }
    /// Keep the compiler from moving work across; nothing to do here.
    template <class Sums> static void fence(Sums (&)[Vectors]) {}
    static void memory_fence() {}

    /// Keeps a vector in its register; nothing to do here.
    template <class Vector> static void keep(Vector&) {}

    /// Vectors * Lanes cells of four bytes: byte i of cell c is rows[i][at + c] ^ flip.
    static void interleave(const std::uint8_t* const (&rows)[4], std::ptrdiff_t at, std::uint8_t flip, std::byte* to) {
        for (int c = 0; c != Vectors * Lanes; ++c)
            for (int i = 0; i != 4; ++i) *to++ = static_cast<std::byte>(rows[i][at + c] ^ flip);
    }
    /// Vectors * Lanes cells of two int16: number i of cell c is rows[i][at + c] ^ flip.
    static void interleave(const std::uint8_t* const (&rows)[2], std::ptrdiff_t at, std::uint8_t flip, std::byte* to) {
        for (int c = 0; c != Vectors * Lanes; ++c) {
            const std::int16_t cell[2] = {static_cast<std::int16_t>(rows[0][at + c] ^ flip),
                                          static_cast<std::int16_t>(rows[1][at + c] ^ flip)};
            std::memcpy(to + 4 * c, cell, sizeof cell);
        }
    }
    /// Four cells: byte i is from[index[i]], or 0 where index[i] = 255, and each cell ^ flip. Vectors reach 16 bytes:
    /// index[i] is below 16 where Lanes is a multiple of 4.
    static void gather(const std::uint8_t* from, const std::uint8_t* index, std::uint32_t flip, std::byte* to) {
        std::uint32_t cells[4];
        std::uint8_t bytes[16];
        for (int i = 0; i != 16; ++i) bytes[i] = index[i] == 255 ? std::uint8_t{0} : from[index[i]];
        std::memcpy(cells, bytes, sizeof cells);
        for (std::uint32_t& cell : cells) cell ^= flip;
        std::memcpy(to, cells, sizeof cells);
    }

    /// to[i] = from[i] - zero_point
    template <class In>
    static void widen(const In* from, std::ptrdiff_t count, std::int32_t zero_point, std::int16_t* to) {
        for (std::ptrdiff_t i = 0; i != count; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero_point);
    }
    /// Codes as int8, bits `flip` flipped: their magnitudes, up to 128, and 0xff where they are negative, else 0
    static void split_signs(const std::uint8_t* from, std::ptrdiff_t count, std::uint8_t flip, std::uint8_t* magnitudes,
                            std::uint8_t* flips) {
        for (std::ptrdiff_t i = 0; i != count; ++i) {
            const auto code = static_cast<std::uint8_t>(from[i] ^ flip);
            flips[i] = code < 128 ? std::uint8_t{0} : std::uint8_t{0xff};
            magnitudes[i] = static_cast<std::uint8_t>((code ^ flips[i]) - flips[i]);
        }
    }
    /// sums[i] += the magnitudes that flips go with, of `count` from magnitudes[i * step] on. Flips lie `flips` behind
    /// magnitudes; up to 32 bytes behind the last of both are read.
    static void sum_flipped(const std::uint8_t* magnitudes, std::ptrdiff_t flips, std::ptrdiff_t count,
                            std::ptrdiff_t step, std::ptrdiff_t windows, std::int32_t* sums) {
        for (std::ptrdiff_t i = 0; i != windows; ++i, magnitudes += step)
            for (std::ptrdiff_t k = 0; k != count; ++k) sums[i] += magnitudes[k] & magnitudes[k + flips];
    }

protected:
    /// Modulo 2^32: with the zero point folded into the bias, partial sums may leave the range that the result is in.
    [[gnu::always_inline]] static void add_wrapping(std::int32_t& sum, std::int32_t dot) {
        sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(dot));
#if defined(__clang__) && __clang_major__ >= 18 && __clang_major__ <= 20 && defined(__AVX512F__)
        // Clang 19 makes vectors of such sums by its SLP vectorizer, some lanes of which are others' sums: at -O2 in depthwise
        // convolutions (-fno-slp-vectorize, -O3 and AVX2 are right, and so are Clang 14 and 21; 18 and 20 were not tried).
        asm("" : "+r"(sum));
#endif
    }
};

/// What zp::portable takes. A tile has eight sums, which the sixteen registers of a 32-bit Arm hold beside two rows, the panel
/// and their operands: larger ones lie in memory there, at three times the instructions.
struct default_portable_operations : portable_operations<2, 4, 1> {
    /// No instruction: what is loaded later is not loaded now, and sums are not added up in another order. GCC would do both,
    /// and have no registers left.
    [[gnu::always_inline]] static void hold([[maybe_unused]] std::int32_t& sum) {
#if defined(__GNUC__)
        asm volatile("" : "+r"(sum) : : "memory");
#endif
    }
    /// A quad of each row times a quad of weights, unrolled: the tile is in registers only if all its places are constants.
    template <class Activation> static constexpr std::ptrdiff_t block_length = 4;
    template <int Rows>
    [[gnu::always_inline]] static void multiply_block(int32 (&tile)[Rows][1], const std::uint8_t* const (&rows)[Rows],
                                                      std::ptrdiff_t k, const std::int8_t* panel) {
#pragma GCC unroll 64
        for (int i = 0; i != 4; ++i) {
            std::int32_t a[Rows];
#pragma GCC unroll 64
            for (int row = 0; row != Rows; ++row) a[row] = rows[row][k + i];
#pragma GCC unroll 64
            for (int lane = 0; lane != lanes; ++lane) {
                const std::int32_t weight = panel[4 * lane + i];
#pragma GCC unroll 64
                for (int row = 0; row != Rows; ++row) {
                    add_wrapping(tile[row][0].value[lane], a[row] * weight);
                    hold(tile[row][0].value[lane]);
                }
            }
        }
    }
};

}  // namespace zp::inline v0::kernel
