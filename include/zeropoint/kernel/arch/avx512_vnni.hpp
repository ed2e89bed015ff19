// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on AVX-512 with VNNI: exact dot products of 512 bits.
#pragma once

#include <immintrin.h>

#include <zeropoint/kernel/arch/avx512bw.hpp>

namespace zp::inline v0::kernel {

/// One instruction each, which adds to the sums; vpdpbusd does not saturate.
struct avx512_vnni_operations : avx512_base<avx512_vnni_operations> {
    static constexpr const char* name = "avx512vnni";
    static constexpr int sums_in_flight = 8;  // the product is in an addition's latency
    static constexpr quad_products quads = quad_products::exact;
    static constexpr bool finishes_in_registers = true;
    static constexpr int fetching_steps = 4;
    static constexpr int nibble_rows = 8, nibble_rows_in_registers = 6, rows_of_two_panels = 4;
    static constexpr bool transforms_filters_ahead = true;
    /// Of 3x3 at 56x56x64, 28x28x128 and 14x14x256 on an Emerald Rapids, which has two vector units of 512 bits; products are 0.8
    /// times as fast there as is said here, so that only ratios are.
    static constexpr winograd_costs winograd{12.5, 46, 6, 450};
    static constexpr double byte_products = 480, word_products = 240;

    /// Or GCC's generic tuning keeps addresses in the registers that 24 sums, weights and a broadcast leave, from where they come
    /// by a port of the products.
    [[gnu::always_inline]] static void addresses_in_memory() {
        asm volatile("" ::: "xmm28", "xmm29", "xmm30", "xmm31");
    }
    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(_mm512_dpwssd_epi32(sums, a, b));
    }
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(_mm512_dpbusd_epi32(sums, a, b));
    }
};

/// Without VBMI2: Cascade Lake, which starts four instructions a cycle, and two beside another program on the same core. Tiles of
/// 6 x 64 have 37 instructions for 24 products where those of 12 x 32 have 42 to 44, of words too, so that Winograd's transforms pay
/// less: alone on the core they take 0.93 to 1.0 of direct products' time, beside another program 1.0 to 1.4.
struct cascade_lake_operations : avx512_vnni_operations {
    static constexpr int paired_rows = 6;
    /// 128x768x3072 takes 0.94 to 0.97 of the time with 96 KiB there, 3x3 at 14x14x256 0.97 to 0.99; 384 KiB give no more.
    static constexpr std::ptrdiff_t band_bytes = 192 * 1024;
    static constexpr double byte_products = 265, word_products = 95;
};

}  // namespace zp::inline v0::kernel
