// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on SVE with products of matrices of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <arm_sve.h>

#include <zeropoint/kernel/arch/sve.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// usmmla multiplies, in each 128 bits, two rows of eight uint8 with two channels of eight int8, into 2 x 2 sums: three
/// pairs of rows of a tile with pairs of channels.
template <std::size_t Bits> struct sve_i8mm_operations : sve_base<sve_i8mm_operations<Bits>, Bits> {
    using base = sve_base<sve_i8mm_operations, Bits>;
    using base::lanes;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;

    static constexpr const char* name = "sve_i8mm";
    static constexpr quad_products quads = quad_products::exact;
    static constexpr bool octets = true;
    static constexpr double byte_products = 1.5 * Bits, word_products = 0.4 * Bits;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(svusdot_s32(sums, a, b));
    }

    /// Sums of a pair of rows, two channels of both rows in 128 bits: of the first half of a vector's channels, and of the
    /// other. They are in the first row's element of a tile. A last row alone is a pair of its own.
    struct matrix_sums {
        int32 low, high;
    };
    template <class Activation>
    using block_sums =
        std::conditional_t<std::is_same_v<Activation, std::uint8_t>, matrix_sums, typename base::long_sums>;
    using base::clear;
    [[gnu::always_inline]] static void clear(matrix_sums& sums) {
        base::clear_vector(sums.low);
        base::clear_vector(sums.high);
    }

    using base::add_blocks;
    using base::multiply_block;
    using base::multiply_step;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
#if !defined(__clang__)  // g++ has no registers left for both halves of a block
        multiply_octet(tile, rows, k, panel);
        multiply_octet(tile, rows, k + 8, panel + 8 * base::vectors * lanes);
#else
        constexpr int pairs = (Rows + 1) / 2;
        uint8 first[pairs], second[pairs];
        repeat<pairs>([&](int pair) __attribute__((always_inline)) {
            const svuint64_t upper = load_row(svptrue_b8(), rows[2 * pair] + k),
                             lower = load_row(svptrue_b8(), rows[second_of<Rows>(pair)] + k);
            first[pair] = uint8(svreinterpret_u8_u64(svtrn1_u64(upper, lower)));
            second[pair] = uint8(svreinterpret_u8_u64(svtrn2_u64(upper, lower)));
            base::pin(first[pair]);
            base::pin(second[pair]);
        });
        multiply_octets(tile, first, panel);
        multiply_octets(tile, second, panel + 8 * base::vectors * lanes);
#endif
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_octet(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        constexpr int pairs = (Rows + 1) / 2;
        uint8 a[pairs];
        load_pairs<8>(a, rows, k);
        multiply_octets(tile, a, panel);
    }
    /// A quad of weights, made octets by zeros.
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_step(matrix_sums (&tile)[Rows][Vectors],
                                                     const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const std::int8_t* panel) {
        constexpr int pairs = (Rows + 1) / 2;
        uint8 a[pairs];
        load_pairs<4>(a, rows, k);
        const svint32_t zero = svdup_n_s32(0);
        repeat<Vectors>([&](int v) __attribute__((always_inline)) {
            const svint32_t w = svreinterpret_s32_s8(svld1_s8(svptrue_b8(), panel + v * 4 * lanes));
            const int8 low(svreinterpret_s8_s32(svzip1_s32(w, zero))), high(svreinterpret_s8_s32(svzip2_s32(w, zero)));
            repeat<pairs>([&](int pair) __attribute__((always_inline)) {
                matrix_sums& sums = tile[2 * pair][v];
                sums.low = int32(svusmmla_s32(sums.low, a[pair], low));
                sums.high = int32(svusmmla_s32(sums.high, a[pair], high));
            });
        });
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const matrix_sums (&blocks)[Rows][Vectors]) {
        unroll<Rows * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int row = i / Vectors, v = i % Vectors;
            const svint64_t low = svreinterpret_s64_s32(blocks[row / 2 * 2][v].low),
                            high = svreinterpret_s64_s32(blocks[row / 2 * 2][v].high);
            tile[row][v] += int32(svreinterpret_s32_s64(row % 2 == 0 ? svuzp1_s64(low, high) : svuzp2_s64(low, high)));
        });
    }

private:
    /// The second row of a pair; of a last row alone, that row again.
    template <int Rows> static constexpr int second_of(int pair) {
        return 2 * pair + 1 == Rows ? 2 * pair : 2 * pair + 1;
    }

    [[gnu::always_inline]] static svuint64_t load_row(svbool_t loaded, const std::uint8_t* from) {
        return svreinterpret_u64_u8(svld1rq_u8(loaded, from));
    }
    /// `Count` bytes of both rows of pairs, up to eight, and zeros.
    template <int Count, int Rows, int Pairs>
    [[gnu::always_inline]] static void load_pairs(uint8 (&a)[Pairs], const std::uint8_t* const (&rows)[Rows],
                                                  std::ptrdiff_t k) {
        const svbool_t loaded = svptrue_pat_b8(Count == 8 ? SV_VL8 : SV_VL4);
        repeat<Pairs>([&](int pair) __attribute__((always_inline)) {
            a[pair] = uint8(svreinterpret_u8_u64(
                svtrn1_u64(load_row(loaded, rows[2 * pair] + k), load_row(loaded, rows[second_of<Rows>(pair)] + k))));
            base::pin(a[pair]);
        });
    }
    /// Pairs of rows of eight bytes times all channels.
    template <int Rows, int Vectors, int Pairs>
    [[gnu::always_inline]] static void multiply_octets(matrix_sums (&tile)[Rows][Vectors], const uint8 (&a)[Pairs],
                                                       const std::int8_t* panel) {
        repeat<2 * Vectors>([&](int i) __attribute__((always_inline)) {
            const int8 w(svld1_s8(svptrue_b8(), panel + i * 4 * lanes));
            repeat<Pairs>([&](int pair) __attribute__((always_inline)) {
                int32& sums = i % 2 == 0 ? tile[2 * pair][i / 2].low : tile[2 * pair][i / 2].high;
                sums = int32(svusmmla_s32(sums, a[pair], w));
            });
            repeat<Pairs>([&](int pair) __attribute__((always_inline)) {
                base::pin(i % 2 == 0 ? tile[2 * pair][i / 2].low : tile[2 * pair][i / 2].high);
            });
        });
    }
};

}  // namespace kernel
}  // namespace v0
}  // namespace zp
