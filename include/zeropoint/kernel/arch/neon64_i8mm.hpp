// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on 64-bit NEON with products of matrices of bytes, from Armv8.6 on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <arm_neon.h>

#include <zeropoint/kernel/arch/neon64_dotprod.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// usmmla multiplies two rows of eight uint8 with two channels of eight int8: 32 products, into 2 x 2 sums. A tile has
/// six rows, of which three pairs are multiplied with eight pairs of channels.
struct neon64_i8mm_operations : neon64_dotprod_base<neon64_i8mm_operations> {
    static constexpr const char* name = "neon64_i8mm";
    static constexpr quad_products quads = quad_products::exact;
    static constexpr bool octets = true;
    static constexpr double byte_products = 200, word_products = 30;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(vusdotq_s32(sums, a, b));
    }

    /// Sums of a pair of rows, [row][channel]: of the first two channels of a vector, and of the other two. They are in
    /// the first row's element of a tile. A last row alone is a pair of its own.
    struct matrix_sums {
        int32 low, high;
    };
    template <class Activation>
    using block_sums = std::conditional_t<std::is_same_v<Activation, std::uint8_t>, matrix_sums, int32>;
    [[gnu::always_inline]] static void clear(matrix_sums& sums) {
        base::clear(sums.low);
        base::clear(sums.high);
    }

    using base::multiply_block;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
#if !defined(__clang__)  // g++ has no registers left for both halves of a block
        multiply_octet(tile, rows, k, panel);
        multiply_octet<8 * vectors * lanes>(tile, rows, k + 8, panel);
#else
        constexpr int pairs = (Rows + 1) / 2;
        uint8x16_t first[pairs], second[pairs];
        repeat<pairs>([&](int pair) __attribute__((always_inline)) {
            const uint64x2_t upper = vreinterpretq_u64_u8(vld1q_u8(rows[2 * pair] + k)),
                             lower = vreinterpretq_u64_u8(vld1q_u8(rows[second_of<Rows>(pair)] + k));
            first[pair] = vreinterpretq_u8_u64(vtrn1q_u64(upper, lower));
            second[pair] = vreinterpretq_u8_u64(vtrn2q_u64(upper, lower));
            asm volatile("" : "+w"(first[pair]), "+w"(second[pair]));
        });
        multiply_octets<0>(tile, first, panel);
        multiply_octets<8 * vectors * lanes>(tile, second, panel);
#endif
    }
    template <int Offset = 0, int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_octet(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        constexpr int pairs = (Rows + 1) / 2;
        uint8x16_t a[pairs];
        repeat<pairs>([&](int pair) __attribute__((always_inline)) {
            a[pair] = vcombine_u8(vld1_u8(rows[2 * pair] + k), vld1_u8(rows[second_of<Rows>(pair)] + k));
            asm volatile("" : "+w"(a[pair]));
        });
        multiply_octets<Offset>(tile, a, panel);
    }
    /// A quad of weights, made octets by zeros.
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_step(matrix_sums (&tile)[Rows][Vectors],
                                                     const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const std::int8_t* panel) {
        const auto load_row = [&](int row) __attribute__((always_inline)) {
            return vset_lane_s32(base::four_bytes(rows[row] + k), vdup_n_s32(0), 0);
        };
        repeat<(Rows + 1) / 2>([&](int pair) __attribute__((always_inline)) {
            const int32x4_t both = vcombine_s32(load_row(2 * pair), load_row(second_of<Rows>(pair)));
            repeat<Vectors>([&](int v) __attribute__((always_inline)) {
                const uint32x4_t w = vreinterpretq_u32_s8(vld1q_s8(panel + v * 16));
                add_matrix(tile[2 * pair][v].low, vreinterpretq_u8_s32(both),
                           vreinterpretq_s8_u64(vmovl_u32(vget_low_u32(w))));
                add_matrix(tile[2 * pair][v].high, vreinterpretq_u8_s32(both), vreinterpretq_s8_u64(vmovl_high_u32(w)));
            });
        });
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const matrix_sums (&blocks)[Rows][Vectors]) {
        unroll<Rows * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int row = i / Vectors, v = i % Vectors;
            const int64x2_t low = vreinterpretq_s64_s32(blocks[row / 2 * 2][v].low),
                            high = vreinterpretq_s64_s32(blocks[row / 2 * 2][v].high);
            tile[row][v] += int32(vreinterpretq_s32_s64(row % 2 == 0 ? vuzp1q_s64(low, high) : vuzp2q_s64(low, high)));
        });
    }

private:
    /// The second row of a pair; of a last row alone, that row again.
    template <int Rows> static constexpr int second_of(int pair) {
        return 2 * pair + 1 == Rows ? 2 * pair : 2 * pair + 1;
    }

    [[gnu::always_inline]] static void add_matrix(int32& sums, uint8x16_t a, int8x16_t w) {
        sums = int32(vusmmlaq_s32(sums, a, w));
    }
    /// Pairs of rows of eight bytes times all channels, whose weights begin `Offset` bytes behind `panel`.
    template <int Offset, int Rows, int Vectors, int Pairs>
    [[gnu::always_inline]] static void multiply_octets(matrix_sums (&tile)[Rows][Vectors], const uint8x16_t (&a)[Pairs],
                                                       const std::int8_t* panel) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            int8x16_t low, high;
            base::template load_two<Offset + v * 32>(panel, low, high);
            repeat<Pairs>([&](int pair)
                              __attribute__((always_inline)) { add_matrix(tile[2 * pair][v].low, a[pair], low); });
            repeat<Pairs>([&](int pair) __attribute__((always_inline)) { base::pin(tile[2 * pair][v].low); });
            repeat<Pairs>([&](int pair)
                              __attribute__((always_inline)) { add_matrix(tile[2 * pair][v].high, a[pair], high); });
            repeat<Pairs>([&](int pair) __attribute__((always_inline)) { base::pin(tile[2 * pair][v].high); });
        });
    }
};

}  // namespace kernel
}  // namespace v0
}  // namespace zp
