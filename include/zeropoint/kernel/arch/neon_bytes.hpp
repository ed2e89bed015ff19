// SPDX-License-Identifier: BSD-3-Clause
// Products of signed bytes on NEON without dot products: what 32-bit and the first 64-bit processors have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <arm_neon.h>

#include <zeropoint/kernel/arch/neon.hpp>

// Bytes are multiplied eight at a time into int16, of which two products are added up before they are widened:
//
//   smull   products,  a quad of a row, everywhere | weights: quad k of four channels
//   smlal   products,  the next quad               | quad k + 1
//   sadalp  sums, products                           int32, two sums a channel
//
// once for the lower and once for the upper two channels: six instructions for 32 products. Two products overflow int16
// where all four factors are -128 and nowhere else; panels with two such weights in a place are packed as pairs.
//

namespace zp::inline v0::kernel {

/// Blocks of bytes, as above. The registers hold the sums of a tile of pairs, and of half as many rows of bytes.
template <class Derived, class Arch> struct neon_byte_blocks : neon_base<Derived, Arch> {
    using base = neon_base<Derived, Arch>;
    using typename base::int32;

    struct quad_sums {
        int32 low, high;  ///< of channels 0 and 1, and of 2 and 3: two sums each
    };
    [[gnu::always_inline]] static void clear(quad_sums& sums) {
        base::clear(sums.low);
        base::clear(sums.high);
    }
    template <class Activation>
    using block_sums = std::conditional_t<std::is_same_v<Activation, std::uint8_t>, quad_sums, int32>;

    /// Whether no quad has -128 where the next one has it too. `panel` is [count][channel][4].
    static bool takes_quads(const std::int8_t* panel, int count) {
        constexpr int quad = 4 * Derived::vectors * base::lanes;
        for (int i = 0; i < (count - 1) * quad; ++i)
            if (panel[i] == -128 && panel[i + quad] == -128) return false;
        return true;
    }

    using base::multiply_block;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(quad_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        multiply_quads<4>(tile, rows, k, panel);
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_step(quad_sums (&tile)[Rows][Vectors],
                                                     const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                     const std::int8_t* panel) {
        multiply_quads<1>(tile, rows, k, panel);
    }
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void add_blocks(int32 (&tile)[Rows][Vectors],
                                                  const quad_sums (&blocks)[Rows][Vectors]) {
        unroll<Rows * Vectors>([&](auto i) __attribute__((always_inline)) {
            const quad_sums& block = blocks[i / Vectors][i % Vectors];
            tile[i / Vectors][i % Vectors] += int32(base::add_neighbours(block.low, block.high));
        });
    }

private:
    /// One quad, or pairs of them.
    template <int Quads, int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_quads(quad_sums (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        constexpr int at_once = Quads == 1 ? 1 : 2;
        const std::uint8_t* from[Rows];
        unroll<Rows>([&](auto row) __attribute__((always_inline)) { from[row] = rows[row] + k; });
        unroll<Quads / at_once>([&](auto) __attribute__((always_inline)) {
            using quad_vector = typename decltype(broadcast_quads<at_once>(from[0]))::value_type;
            const auto multiply = [&](quad_sums & sums, const int8x16_t(&w)[at_once],
                                      const std::array<quad_vector, at_once>& quads) __attribute__((always_inline)) {
                int16x8_t low = multiply_low(w[0], quads[0]), high = multiply_high(w[0], quads[0]);
                if constexpr (at_once == 2) {
                    add_low_products(low, w[1], quads[1]);
                    add_high_products(high, w[1], quads[1]);
                }
                add_pairs(sums.low, low);
                add_pairs(sums.high, high);
            };
            constexpr int step = 16 * Derived::vectors;
            // The fewer registers: of rows or of vectors of weights.
            if constexpr (Rows <= Vectors && is_arm64) {
                std::array<quad_vector, at_once> quads[Rows];
                unroll<Rows>([&](auto row)
                                 __attribute__((always_inline)) { quads[row] = broadcast_quads<at_once>(from[row]); });
                unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                    int8x16_t w[at_once];
                    unroll<at_once>([&](auto quad) __attribute__((always_inline)) {
                        w[quad] = vld1q_s8(panel + quad * step + v * 16);
                    });
                    unroll<Rows>([&](auto row)
                                     __attribute__((always_inline)) { multiply(tile[row][v], w, quads[row]); });
                });
            } else {
                int8x16_t w[Vectors][at_once];
                load_weights(w, panel);
                unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                    const auto quads = broadcast_quads<at_once>(from[row]);
                    unroll<Vectors>([&](auto v)
                                        __attribute__((always_inline)) { multiply(tile[row][v], w[v], quads); });
                });
            }
            if constexpr (is_arm64) panel += at_once * step;
        });
    }

#if defined(__aarch64__)
    [[gnu::always_inline]] static void add_pairs(int32& sums, int16x8_t products) {
        sums = int32(vpadalq_s16(sums, products));
        base::pin(sums);
    }
    template <int Vectors, int Quads>
    [[gnu::always_inline]] static void load_weights(int8x16_t (&w)[Vectors][Quads], const std::int8_t* panel) {
        unroll<Vectors * Quads>([&](auto i) __attribute__((always_inline)) {
            w[i / Quads][i % Quads] = vld1q_s8(panel + (i % Quads * Derived::vectors + i / Quads) * 16);
        });
    }
    /// Loads with a broadcast take no index: of two quads, one load and two broadcasts need fewer instructions.
    template <int Count>
    [[gnu::always_inline]] static std::array<int8x16_t, Count> broadcast_quads(const std::uint8_t*& from) {
        from += 4 * Count;
        if constexpr (Count == 1) {
            return {vreinterpretq_s8_s32(vdupq_n_s32(base::four_bytes(from - 4)))};
        } else {
            int32x2_t both = vreinterpret_s32_u8(vld1_u8(from - 8));
            asm("" : "+w"(both));  // g++ would load them one by one
            return {vreinterpretq_s8_s32(vdupq_lane_s32(both, 0)), vreinterpretq_s8_s32(vdupq_lane_s32(both, 1))};
        }
    }
    [[gnu::always_inline]] static int16x8_t multiply_low(int8x16_t a, int8x16_t b) {
        return vmull_s8(vget_low_s8(a), vget_low_s8(b));
    }
    [[gnu::always_inline]] static int16x8_t multiply_high(int8x16_t a, int8x16_t b) { return vmull_high_s8(a, b); }
    [[gnu::always_inline]] static void add_low_products(int16x8_t& sums, int8x16_t a, int8x16_t b) {
        sums = vmlal_s8(sums, vget_low_s8(a), vget_low_s8(b));
    }
    [[gnu::always_inline]] static void add_high_products(int16x8_t& sums, int8x16_t a, int8x16_t b) {
        sums = vmlal_high_s8(sums, a, b);
    }
#else
    /// Volatile, so that products stay in order: sixteen registers allow no other.
    [[gnu::always_inline]] static void add_pairs(int32& sums, int16x8_t products) {
        asm volatile("vpadal.s16 %q0, %q1" : "+w"(sums.data) : "w"(products));
    }
    /// One instruction for a quad of all channels. Loads of vectors take no offset either: they move `panel` on, which
    /// compilers would do by additions.
    template <int Vectors, int Quads>
    [[gnu::always_inline]] static void load_weights(int8x16_t (&w)[Vectors][Quads], const std::int8_t*& panel) {
        static_assert(Derived::vectors == 2, "neon: a quad of weights is two vectors");
        unroll<Quads>([&](auto quad) __attribute__((always_inline)) {
#if defined(__clang__)
            int8x16x2_t both = {{ vld1q_s8(panel), vld1q_s8(panel + 16) }};
            panel += 32;
#else
            int8x16x2_t both;
            asm("vld1.8 %h0, [%1]!"
                : "=w"(both), "+r"(panel)
                : "m"(*reinterpret_cast<const std::int8_t(*)[32]>(panel)));
#endif
            unroll<Vectors>([&](auto v) __attribute__((always_inline)) { w[v][quad] = both.val[v]; });
        });
    }
    /// Eight bytes are enough where the upper half of a vector is a register of its own.
    template <int Count>
    [[gnu::always_inline]] static std::array<int8x8_t, Count> broadcast_quads(const std::uint8_t*& from) {
        std::array<int8x8_t, Count> quads;
        for (int8x8_t& quad : quads) {
            asm("vld1.32 {%P0[]}, [%1]!"
                : "=w"(quad), "+r"(from)
                : "m"(*reinterpret_cast<const std::uint8_t(*)[4]>(from)));
        }
        return quads;
    }
    [[gnu::always_inline]] static int16x8_t multiply_low(int8x16_t a, int8x8_t b) {
        return vmull_s8(vget_low_s8(a), b);
    }
    [[gnu::always_inline]] static int16x8_t multiply_high(int8x16_t a, int8x8_t b) {
        return vmull_s8(vget_high_s8(a), b);
    }
    [[gnu::always_inline]] static void add_low_products(int16x8_t& sums, int8x16_t a, int8x8_t b) {
        sums = vmlal_s8(sums, vget_low_s8(a), b);
    }
    [[gnu::always_inline]] static void add_high_products(int16x8_t& sums, int8x16_t a, int8x8_t b) {
        sums = vmlal_s8(sums, vget_high_s8(a), b);
    }
#endif
};

#if defined(__aarch64__)
/// A tile is 8 x 8, of bytes twice 4 x 8: 16 sums, four vectors of weights, three of a row and products of 32 registers.
struct neon64_operations : neon_byte_blocks<neon64_operations, xsimd::neon64> {
    static constexpr const char* name = "neon64";
    static constexpr int tile_rows = 8, vectors = 2;
    static constexpr double byte_products = 30, word_products = 25;
    template <class Activation> static constexpr int most_rows(int vectors_used) {
        return (sizeof(Activation) == 1 ? 8 : 16) / vectors_used;
    }
};
#else
/// A tile is 4 x 8, of bytes twice 2 x 8: eight sums, four vectors of weights, one of a row and products of 16 registers.
struct neon_operations : neon_byte_blocks<neon_operations, xsimd::neon> {
    static constexpr const char* name = "neon";
    static constexpr int tile_rows = 4, vectors = 2;
    static constexpr double byte_products = 15, word_products = 13;
    template <class Activation> static constexpr int most_rows(int vectors_used) {
        return sizeof(Activation) == 1 ? 4 / vectors_used : 8 / vectors_used;
    }
};
#endif

}  // namespace zp::inline v0::kernel
