// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on AVX-512 with AMX-INT8: VNNI's, and products of whole tiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

#include <zeropoint/kernel/arch/avx512bw.hpp>
#include <zeropoint/kernel/arch/tile_products.hpp>
#include <zeropoint/kernel/machine/tile_permission.hpp>

namespace zp::inline v0::kernel {

/// The instructions. Not the compiler's intrinsics: those of GCC 12 say nothing of the memory that they read and write.
struct amx_tiles {
    static bool may_be_used() noexcept { return detail::may_use_tiles(); }
    [[gnu::always_inline]] static void configure(const tile_shapes& shapes) {
        asm volatile("ldtilecfg %0" : : "m"(shapes));
    }
    [[gnu::always_inline]] static void release() { asm volatile("tilerelease"); }
    template <int Register, int Offset>
    [[gnu::always_inline]] static void load(const void* from, std::ptrdiff_t pitch) {
        asm volatile("{tileloadd %c3(%0,%1,1), %%tmm%c2|tileloadd tmm%c2, [%0+%1*1+%c3]}"
                     :
                     : "r"(from), "r"(pitch), "i"(Register), "i"(Offset)
                     : "memory");
    }
    template <int Register, int Offset> [[gnu::always_inline]] static void store(void* to, std::ptrdiff_t pitch) {
        asm volatile("{tilestored %%tmm%c2, %c3(%0,%1,1)|tilestored [%0+%1*1+%c3], tmm%c2}"
                     :
                     : "r"(to), "r"(pitch), "i"(Register), "i"(Offset)
                     : "memory");
    }
    [[gnu::always_inline]] static void copy(const std::uint8_t* from, std::uint8_t* to) {
        _mm512_store_si512(to, _mm512_loadu_si512(from));
    }
    [[gnu::always_inline]] static void copy(const std::uint8_t* from, int count, std::uint8_t* to) {
        _mm512_store_si512(to, _mm512_maskz_loadu_epi8((__mmask64{1} << count) - 1, from));
    }
    template <int Sums, int Rows, int Weights> [[gnu::always_inline]] static void multiply() {
        asm volatile("{tdpbuud %%tmm%c0, %%tmm%c1, %%tmm%c2|tdpbuud tmm%c2, tmm%c1, tmm%c0}"
                     :
                     : "i"(Weights), "i"(Rows), "i"(Sums));
    }
};

/// Sixteen rows at a time go to the tiles, what is left of them to vpdpbusd.
struct avx512_amx_operations : avx512_base<avx512_amx_operations>, tile_products<amx_tiles> {
    static constexpr const char* name = "avx512amx";
    static constexpr int sums_in_flight = 8;  // as with VNNI alone
    static constexpr quad_products quads = quad_products::exact;
    static constexpr bool finishes_in_registers = true;
    // Of 3x3 at 28x28x128 on an Emerald Rapids, which has 2350 at its peak in registers: sums, epilogues and caches are the rest.
    static constexpr double byte_products = 1100, word_products = 240;
    /// 128x768x3072 is 1.28 times as fast as with 96 KiB there, 512^3 1.10, 14x14x256 1.15; 512 KiB give 1.11 of the first once more, and
    /// nothing else.
    static constexpr std::ptrdiff_t band_bytes = 256 * 1024;

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(_mm512_dpwssd_epi32(sums, a, b));
    }
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(_mm512_dpbusd_epi32(sums, a, b));
    }

    [[gnu::always_inline]] static int8 flip_signs(const int8& x) { return x ^ int8(std::int8_t{-128}); }
    static void sum_bytes(const std::uint8_t* bytes, std::ptrdiff_t count, std::ptrdiff_t step, std::ptrdiff_t windows,
                          std::int32_t* sums) {
        const __mmask64 rest = (__mmask64{1} << (count % 64)) - 1;
        for (std::ptrdiff_t window = 0; window != windows; ++window, bytes += step) {
            __m512i sum = _mm512_setzero_si512();
            const auto add = [&](__m512i more) __attribute__((always_inline)) {
                sum = _mm512_add_epi64(sum, _mm512_sad_epu8(more, _mm512_setzero_si512()));
            };
            std::ptrdiff_t i = 0;
            for (; i + 64 <= count; i += 64) add(_mm512_loadu_si512(bytes + i));
            if (rest != 0) add(_mm512_maskz_loadu_epi8(rest, bytes + i));
            sums[window] += static_cast<std::int32_t>(_mm512_reduce_add_epi64(sum));
        }
    }
};

}  // namespace zp::inline v0::kernel
