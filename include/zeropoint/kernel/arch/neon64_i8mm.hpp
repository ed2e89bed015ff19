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
    static constexpr double byte_products = 200, word_products = 30;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(vusdotq_s32(sums, a, b));
    }

    /// Of a pair of rows, the first one's element has the sums of the first two channels of a vector, [row][channel], and
    /// the second one's those of the others. A last row alone has sums as everywhere else.
    struct matrix_sums {
        int32 data;
    };
    [[gnu::always_inline]] static void clear(matrix_sums& sums) { base::clear(sums.data); }
    template <class Activation>
    using block_sums = std::conditional_t<std::is_same_v<Activation, std::uint8_t>, matrix_sums, int32>;

    using base::multiply_block;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        multiply_quads<4>(tile, rows, k, panel);
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_step(matrix_sums (&tile)[Rows][Vectors],
                                                     const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const std::int8_t* panel) {
        multiply_quads<1>(tile, rows, k, panel);
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const matrix_sums (&blocks)[Rows][Vectors]) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            unroll<Rows / 2>([&](auto pair) __attribute__((always_inline)) {
                const int64x2_t left = vreinterpretq_s64_s32(blocks[2 * pair][v].data),
                                right = vreinterpretq_s64_s32(blocks[2 * pair + 1][v].data);
                tile[2 * pair][v] += int32(vreinterpretq_s32_s64(vtrn1q_s64(left, right)));
                tile[2 * pair + 1][v] += int32(vreinterpretq_s32_s64(vtrn2q_s64(left, right)));
            });
            if constexpr (Rows % 2 != 0) tile[Rows - 1][v] += blocks[Rows - 1][v].data;
        });
    }

private:
    /// Of a single quad, the other half of the eight products is zero.
    template <int Quads, int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_quads(matrix_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        constexpr int pairs = Rows / 2, halves = (Quads + 1) / 2;
        const auto load_row = [&](int row) __attribute__((always_inline)) {
            if constexpr (Quads == 4) return vld1q_u8(rows[row] + k);
            else return vreinterpretq_u8_s32(vsetq_lane_s32(base::four_bytes(rows[row] + k), vdupq_n_s32(0), 0));
        };
        const auto load_quad = [&](int quad, int v) __attribute__((always_inline)) {
            return quad < Quads ? vld1q_s8(panel + (quad * vectors + v) * 16) : vdupq_n_s8(0);
        };
        uint8x16_t a[halves][pairs + 1];
        unroll<pairs>([&](auto pair) __attribute__((always_inline)) {
            const uint64x2_t first = vreinterpretq_u64_u8(load_row(2 * pair)),
                             second = vreinterpretq_u64_u8(load_row(2 * pair + 1));
            a[0][pair] = vreinterpretq_u8_u64(vtrn1q_u64(first, second));
            if constexpr (halves == 2) a[1][pair] = vreinterpretq_u8_u64(vtrn2q_u64(first, second));
        });
        if constexpr (Rows % 2 != 0) a[0][pairs] = load_row(Rows - 1);
        unroll<halves * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int half = i / Vectors, v = i % Vectors;
            const int8x16_t first = load_quad(2 * half, v), second = load_quad(2 * half + 1, v);
            if constexpr (pairs != 0) {
                const int32x4_t x = vreinterpretq_s32_s8(first), y = vreinterpretq_s32_s8(second);
                const int8x16_t low = vreinterpretq_s8_s32(vzip1q_s32(x, y)),
                                high = vreinterpretq_s8_s32(vzip2q_s32(x, y));
                unroll<pairs>([&](auto pair) __attribute__((always_inline)) {
                    int32 &left = tile[2 * pair][v].data, &right = tile[2 * pair + 1][v].data;
                    left = int32(vusmmlaq_s32(left, a[half][pair], low));
                    right = int32(vusmmlaq_s32(right, a[half][pair], high));
                    base::keep(right);
                });
            }
            if constexpr (Rows % 2 != 0) {
                int32& last = tile[Rows - 1][v].data;
                last = int32(vsudotq_laneq_s32(last, first, a[0][pairs], 2 * half));
                last = int32(vsudotq_laneq_s32(last, second, a[0][pairs], 2 * half + 1));
            }
        });
    }
};

}  // namespace kernel
}  // namespace v0
}  // namespace zp
