// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on AVX-VNNI: AVX2 with exact dot products.
#pragma once

#include <zeropoint/kernel/arch/avx2.hpp>

namespace zp::inline v0::kernel {

/// One instruction each, which adds to the sums; vpdpbusd does not saturate.
struct avx_vnni_operations : avx2_base<avx_vnni_operations> {
    static constexpr const char* name = "avxvnni";
    static constexpr int sums_in_flight = 8;  // the product is in an addition's latency
    static constexpr quad_products quads = quad_products::exact;
    static constexpr double byte_products = 240, word_products = 120;

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(_mm256_dpwssd_avx_epi32(sums, a, b));
    }
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(_mm256_dpbusd_avx_epi32(sums, a, b));
    }
};

}  // namespace zp::inline v0::kernel
