// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on 64-bit NEON with products of matrices of bytes, from Armv8.6 on.
#pragma once

#include <cstdint>

#include <arm_neon.h>

#include <zeropoint/kernel/arch/matrix_products.hpp>
#include <zeropoint/kernel/arch/neon64_dotprod.hpp>

namespace zp::inline v0::kernel {

/// A tile has six rows, of which three pairs are multiplied with eight pairs of channels.
struct neon64_i8mm_operations : matrix_products<neon64_i8mm_operations, neon64_dotprod_base<neon64_i8mm_operations>> {
    static constexpr const char* name = "neon64_i8mm";
    static constexpr double byte_products = 200, word_products = 30;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(vusdotq_s32(sums, a, b));
    }
    [[gnu::always_inline]] static void multiply_matrices(int32& sums, const uint8& a, const int8& w) {
        sums = int32(vusmmlaq_s32(sums, a, w));
    }
    template <int Count> [[gnu::always_inline]] static uint8 pair_rows(const std::uint8_t* a, const std::uint8_t* b) {
        const auto load_row = [](const std::uint8_t* row) __attribute__((always_inline)) {
            if constexpr (Count == 8) return vld1_u8(row);
            else return vreinterpret_u8_s32(vset_lane_s32(four_bytes(row), vdup_n_s32(0), 0));
        };
        return uint8(vcombine_u8(load_row(a), load_row(b)));
    }
    [[gnu::always_inline]] static void pair_octets(const std::uint8_t* a, const std::uint8_t* b, uint8& first,
                                                   uint8& second) {
        const uint64x2_t upper = vreinterpretq_u64_u8(vld1q_u8(a)), lower = vreinterpretq_u64_u8(vld1q_u8(b));
        first = uint8(vreinterpretq_u8_u64(vtrn1q_u64(upper, lower)));
        second = uint8(vreinterpretq_u8_u64(vtrn2q_u64(upper, lower)));
    }
    /// One instruction, which compilers do not make of two loads where their order is held.
    template <int Offset> [[gnu::always_inline]] static void load_two(const std::int8_t* from, int8& low, int8& high) {
        asm("ldp %q0, %q1, [%2, %3]"
            : "=w"(low.data), "=w"(high.data)
            : "r"(from), "n"(Offset), "m"(*reinterpret_cast<const std::int8_t(*)[Offset + 32]>(from)));
    }
    [[gnu::always_inline]] static void widen_quads(const std::int8_t* panel, int8& low, int8& high) {
        const uint32x4_t w = vreinterpretq_u32_s8(vld1q_s8(panel));
        low = int8(vreinterpretq_s8_u64(vmovl_u32(vget_low_u32(w))));
        high = int8(vreinterpretq_s8_u64(vmovl_high_u32(w)));
    }
    template <bool Odd> [[gnu::always_inline]] static int32 sums_of_row(const int32& low, const int32& high) {
        const int64x2_t a = vreinterpretq_s64_s32(low), b = vreinterpretq_s64_s32(high);
        return int32(vreinterpretq_s32_s64(Odd ? vuzp2q_s64(a, b) : vuzp1q_s64(a, b)));
    }
};

}  // namespace zp::inline v0::kernel
