// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on 64-bit NEON with dot products of signed bytes, from Armv8.4 on.
#pragma once

#include <cstddef>
#include <cstdint>

#include <arm_neon.h>

#include <zeropoint/kernel/arch/neon.hpp>

namespace zp::inline v0::kernel {

/// A tile is 6 x 16: 24 sums, six rows of 16 bytes, which four quads of weights take by element, and two vectors of
/// weights fill the 32 registers.
template <class Derived> struct neon64_dotprod_base : neon_base<Derived, xsimd::neon64> {
    using base = neon_base<Derived, xsimd::neon64>;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;

    static constexpr int tile_rows = 6, vectors = 4;
    static constexpr int sums_in_flight = 8;
    template <class Activation> static constexpr int most_rows(int vectors_used) {
        return sizeof(Activation) == 1 ? 6 : 12 / vectors_used;
    }
};

struct neon64_dotprod_operations : neon64_dotprod_base<neon64_dotprod_operations> {
    static constexpr const char* name = "neon64_dotprod";
    static constexpr double byte_products = 120, word_products = 30;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(vdotq_s32(sums, vreinterpretq_s8_u8(a), b));
    }

    using base::multiply_block;
    template <int Rows, int Vectors>
    [[gnu::always_inline]] static void multiply_block(int32 (&tile)[Rows][Vectors],
                                                      const std::uint8_t* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const std::int8_t* panel) {
        int8x16_t a[Rows];
        unroll<Rows>([&](auto row)
                         __attribute__((always_inline)) { a[row] = vreinterpretq_s8_u8(vld1q_u8(rows[row] + k)); });
        unroll<4 * Vectors>([&](auto i) __attribute__((always_inline)) {
            constexpr int quad = i / Vectors, v = i % Vectors;
            const int8x16_t w = vld1q_s8(panel + (quad * vectors + v) * 16);
            unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                tile[row][v] = int32(vdotq_laneq_s32(tile[row][v], w, a[row], quad));
            });
            base::keep(tile[Rows - 1][v]);
        });
    }
};

}  // namespace zp::inline v0::kernel
