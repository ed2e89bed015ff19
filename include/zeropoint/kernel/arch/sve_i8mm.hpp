// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on SVE with products of matrices of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <arm_sve.h>

#include <zeropoint/kernel/arch/matrix_products.hpp>
#include <zeropoint/kernel/arch/sve.hpp>

namespace zp::inline v0::kernel {

/// In each 128 bits a pair of rows and a pair of channels.
template <std::size_t Bits>
struct sve_i8mm_operations : matrix_products<sve_i8mm_operations<Bits>, sve_base<sve_i8mm_operations<Bits>, Bits>> {
    using base = sve_base<sve_i8mm_operations, Bits>;
    using matrices = matrix_products<sve_i8mm_operations, base>;
    using base::lanes;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;

    static constexpr const char* name = "sve_i8mm";
    static constexpr double byte_products = 1.5 * Bits, word_products = 0.4 * Bits;

    using base::add_blocks, matrices::add_blocks;
    using base::multiply_step, matrices::multiply_step;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(svusdot_s32(sums, a, b));
    }
    [[gnu::always_inline]] static void multiply_matrices(int32& sums, const uint8& a, const int8& w) {
        sums = int32(svusmmla_s32(sums, a, w));
    }
    template <int Count> [[gnu::always_inline]] static uint8 pair_rows(const std::uint8_t* a, const std::uint8_t* b) {
        const svbool_t loaded = svptrue_pat_b8(Count == 8 ? SV_VL8 : SV_VL4);
        return uint8(svreinterpret_u8_u64(svtrn1_u64(load_row(loaded, a), load_row(loaded, b))));
    }
    [[gnu::always_inline]] static void pair_octets(const std::uint8_t* a, const std::uint8_t* b, uint8& first,
                                                   uint8& second) {
        const svuint64_t upper = load_row(svptrue_b8(), a), lower = load_row(svptrue_b8(), b);
        first = uint8(svreinterpret_u8_u64(svtrn1_u64(upper, lower)));
        second = uint8(svreinterpret_u8_u64(svtrn2_u64(upper, lower)));
    }
    template <int Offset> [[gnu::always_inline]] static void load_two(const std::int8_t* panel, int8& low, int8& high) {
        low = int8(svld1_s8(svptrue_b8(), panel + Offset));
        high = int8(svld1_s8(svptrue_b8(), panel + Offset + 4 * lanes));
    }
    [[gnu::always_inline]] static void widen_quads(const std::int8_t* panel, int8& low, int8& high) {
        const svint32_t zero = svdup_n_s32(0), w = svreinterpret_s32_s8(svld1_s8(svptrue_b8(), panel));
        low = int8(svreinterpret_s8_s32(svzip1_s32(w, zero)));
        high = int8(svreinterpret_s8_s32(svzip2_s32(w, zero)));
    }
    template <bool Odd> [[gnu::always_inline]] static int32 sums_of_row(const int32& low, const int32& high) {
        const svint64_t a = svreinterpret_s64_s32(low), b = svreinterpret_s64_s32(high);
        return int32(svreinterpret_s32_s64(Odd ? svuzp2_s64(a, b) : svuzp1_s64(a, b)));
    }

private:
    [[gnu::always_inline]] static svuint64_t load_row(svbool_t loaded, const std::uint8_t* from) {
        return svreinterpret_u64_u8(svld1rq_u8(loaded, from));
    }
};

}  // namespace zp::inline v0::kernel
