// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on SVE with vectors of fixed length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <arm_neon.h>
#include <arm_sve.h>

#include <zeropoint/kernel/arch/vector_operations.hpp>

// Products by one element take it from each 128 bits of a vector: 16 bytes of a row, repeated in each of them, serve four
// quads of weights. Words are multiplied four at a time into int64 sums, there being no products of words into int32;
// their low halves are the sums.

namespace zp::inline v0::kernel {

/// A tile is 6 rows by four vectors: 24 sums, six of a row, two of weights. Of words it is 3 rows at a time.
template <class Derived, std::size_t Bits> struct sve_base : vector_operations<Derived, xsimd::detail::sve<Bits>> {
    using base = vector_operations<Derived, xsimd::detail::sve<Bits>>;
    using typename base::int16;
    using typename base::int32;
    using typename base::int8;
    using typename base::real;
    using typename base::uint8;
    using int64 = typename base::template batch<std::int64_t>;
    using base::lanes;

    static constexpr int tile_rows = 6, vectors = 4;
    static constexpr int sums_in_flight = 8;
    static constexpr bool has_byte_lookup = true;
    template <class Activation> static constexpr int block_length = 16 / sizeof(Activation);
    template <class Activation> static constexpr int most_rows(int vectors_used) {
        return sizeof(Activation) == 1 ? 6 : 12 / vectors_used;
    }

    /// As keep(), and for Clang too: where it would move work up until it spills.
    template <class Batch> [[gnu::always_inline]] static void pin(Batch& operand) {
        xsimd::types::detail::sizeless_sve_vector_type<typename Batch::value_type> held = operand;
        asm volatile("" : "+w"(held));
        operand = Batch(held);
    }
    /// A zero that compilers do not know to be one: Clang would keep a register for each of them.
    template <class Batch> [[gnu::always_inline]] static void clear(Batch& sums) {
        xsimd::types::detail::sizeless_sve_vector_type<typename Batch::value_type> zero = Batch(0);
        asm("" : "+w"(zero));
        sums = Batch(zero);
    }

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        if constexpr (std::is_signed_v<T>) return int16(svld1sb_s16(svptrue_b16(), from));
        else return int16(svld1ub_s16(svptrue_b16(), from));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        if constexpr (std::is_signed_v<T>) return int32(svld1sb_s32(svptrue_b32(), from));
        else return int32(svld1ub_s32(svptrue_b32(), from));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        const svbool_t all = svptrue_b32();
        const svint32_t x = svreinterpret_s32_s16(a), y = svreinterpret_s32_s16(b);
        const svint32_t low = svmla_s32_x(all, sums, svexth_s32_x(all, x), svexth_s32_x(all, y));
        sums = int32(svmla_s32_x(all, low, svasr_n_s32_x(all, x, 16), svasr_n_s32_x(all, y, 16)));
    }

    struct word_sums {
        int64 low, high;  ///< of the lower and the upper half of the channels
    };
    [[gnu::always_inline]] static void clear(word_sums& sums) {
        clear(sums.low);
        clear(sums.high);
    }
    /// Words.
    template <int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_block(word_sums (&tile)[Rows][Vectors],
                                                      const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const Weight* panel) {
        multiply_pairs<4>(tile, rows, k, panel);
    }
    template <int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_step(word_sums (&tile)[Rows][Vectors],
                                                     const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const Weight* panel) {
        multiply_pairs<1>(tile, rows, k, panel);
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const word_sums (&blocks)[Rows][Vectors]) {
        repeat<Rows * Vectors>([&](int i) __attribute__((always_inline)) {
            const word_sums& block = blocks[i / Vectors][i % Vectors];
            tile[i / Vectors][i % Vectors] +=
                int32(svuzp1_s32(svreinterpret_s32_s64(block.low), svreinterpret_s32_s64(block.high)));
        });
    }

    [[gnu::always_inline]] static int32 load_first(const std::int32_t* from, int count) {
        return int32(svld1_s32(svwhilelt_b32_s32(0, count), from));
    }
    [[gnu::always_inline]] static real load_first(const float* from, int count) {
        return real(svld1_f32(svwhilelt_b32_s32(0, count), from));
    }
    [[gnu::always_inline]] static real load_halves(const std::uint16_t* from) {
        return base::widened_halves(int32(svld1uh_s32(svptrue_b32(), from)));
    }
    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const int32 added = xsimd::bitwise_cast<std::int32_t>(offset) >> 16;
        const int32 low = -added, high = int32(255) - added;
        const auto code = [&](int i) __attribute__((always_inline)) {
            const int32 codes = xsimd::min(xsimd::max(v[i], low), high) + added;
            return xsimd::bitwise_cast<std::int16_t>(codes);
        };
        const svint16_t first = svuzp1_s16(code(0), code(1)), second = svuzp1_s16(code(2), code(3));
        return uint8(svuzp1_u8(svreinterpret_u8_s16(first), svreinterpret_u8_s16(second)));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, const uint8& from) {
        const svbool_t half = svwhilelt_b8_s32(0, 2 * lanes);
        svst1_u8(half, static_cast<std::uint8_t*>(low), from);
        svst1_u8(half, static_cast<std::uint8_t*>(high), svext_u8(from, from, 2 * lanes));
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        high = int32(svmulh_s32_x(svptrue_b32(), a, b));
        low = int32(svmul_s32_x(svptrue_b32(), a, b));
    }

    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        return base::template bits<bytes16>(
            vqtbl1q_u8(base::template bits<uint8x16_t>(table), base::template bits<uint8x16_t>(index)));
    }
    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) {
        return uint8(svld1rq_u8(svptrue_b8(), from));
    }
    [[gnu::always_inline]] static uint8 shuffle16(const uint8& table, const uint8& index) {
        if constexpr (lanes == 4) {
            return uint8(svtbl_u8(table, index));
        } else {
            const svbool_t all = svptrue_b8();
            return uint8(svtbl_u8(table, svorr_u8_x(all, index, svand_n_u8_x(all, svindex_u8(0, 1), 0xf0))));
        }
    }

private:
    /// Four words of a row by element; of a single pair, the other two are zero.
    template <int Pairs, int Rows, int Vectors, class Weight>
    [[gnu::always_inline]] static void multiply_pairs(word_sums (&tile)[Rows][Vectors],
                                                      const std::int16_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const Weight* panel) {
        constexpr int halves = (Pairs + 1) / 2;
        const svbool_t loaded = Pairs == 4 ? svptrue_b16() : svptrue_pat_b16(SV_VL2);
        int16 a[Rows];
        repeat<Rows>([&](int row)
                         __attribute__((always_inline)) { a[row] = int16(svld1rq_s16(loaded, rows[row] + k)); });
        unroll<halves * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int half = i / Vectors, v = i % Vectors;
            const auto load_pair = [&](int pair) __attribute__((always_inline)) {
                if (pair >= Pairs) return int32(0);
                return xsimd::bitwise_cast<std::int32_t>(load_words(panel + (pair * vectors + v) * 2 * lanes));
            };
            const int32 first = load_pair(2 * half), second = load_pair(2 * half + 1);
            const int16 low(svreinterpret_s16_s32(svzip1_s32(first, second))),
                high(svreinterpret_s16_s32(svzip2_s32(first, second)));
            repeat<Rows>([&](int row) __attribute__((always_inline)) {
                word_sums& sums = tile[row][v];
                sums.low = int64(svdot_lane_s64(sums.low, low, a[row], half));
                sums.high = int64(svdot_lane_s64(sums.high, high, a[row], half));
                pin(sums.low);
                pin(sums.high);
            });
        });
    }
    [[gnu::always_inline]] static int16 load_words(const std::int16_t* from) {
        return int16(svld1_s16(svptrue_b16(), from));
    }
    [[gnu::always_inline]] static int16 load_words(const std::int8_t* from) { return load_widened(from); }
};

/// With sdot, which is a part of SVE.
template <std::size_t Bits> struct sve_operations : sve_base<sve_operations<Bits>, Bits> {
    using base = sve_base<sve_operations, Bits>;
    using base::lanes;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;

    static constexpr const char* name = "sve";
    static constexpr quad_products quads = quad_products::exact_signed;
    static constexpr double byte_products = 0.9 * Bits, word_products = 0.4 * Bits;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(svdot_s32(sums, svreinterpret_s8_u8(a), b));
    }

    template <class Activation>
    using block_sums = std::conditional_t<std::is_same_v<Activation, std::uint8_t>, int32, typename base::word_sums>;

    using base::multiply_block;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(int32 (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        int8 a[Rows];
        repeat<Rows>([&](int row) __attribute__((always_inline)) {
            a[row] = int8(svreinterpret_s8_u8(svld1rq_u8(svptrue_b8(), rows[row] + k)));
        });
        unroll<4 * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int quad = i / Vectors, v = i % Vectors;
            const int8 w(svld1_s8(svptrue_b8(), panel + (quad * base::vectors + v) * 4 * lanes));
            repeat<Rows>([&](int row) __attribute__((always_inline)) { keep_low(a[row]); });
            repeat<Rows>([&](int row) __attribute__((always_inline)) {
                tile[row][v] = int32(svdot_lane_s32(tile[row][v], w, a[row], quad));
            });
            base::keep(tile[Rows - 1][v]);
        });
    }

private:
    /// Products by element take the element from one of eight registers, which g++ would copy it to each time.
    [[gnu::always_inline]] static void keep_low([[maybe_unused]] int8& a) {
#if !defined(__clang__)
        asm volatile("" : "+y"(a.data));
#endif
    }
};

}  // namespace zp::inline v0::kernel
