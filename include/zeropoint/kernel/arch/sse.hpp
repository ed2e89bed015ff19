// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on 128-bit x86 vectors, from the SSE2 of every x86-64 machine on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <emmintrin.h>

#include <zeropoint/kernel/arch/vector_operations.hpp>

#if XSIMD_WITH_SSSE3
#include <tmmintrin.h>
#endif

// Products of tiles are written in assembly: compilers hold weights in registers, and then spill sums. One that is an
// operand in memory is at a multiple of 16 bytes, as all panels are.
#if defined(__AVX__)
#define ZEROPOINT_SSE_NAME(name) "v" name
#define ZEROPOINT_SSE(name, from, to) "v" name " " from ", " to ", " to "\n\t"
#else
#define ZEROPOINT_SSE_NAME(name) name
#define ZEROPOINT_SSE(name, from, to) name " " from ", " to "\n\t"
#endif

namespace zp::inline v0::kernel {

/// A tile is 6 x 8, as many registers as AVX2's. There is no product of bytes.
///
/// A block is sixteen bytes of each row: one load, and pshufd to broadcast four of them.
template <class Derived, class Arch> struct sse_operations : vector_operations<Derived, Arch> {
    using base = vector_operations<Derived, Arch>;
    using typename base::int16;
    using typename base::int32;
    using typename base::uint8;

    static constexpr const char* name = Arch::name();
    static constexpr int tile_rows = 6, vectors = 2;
    static constexpr quad_products quads = quad_products::none;
    static constexpr double byte_products = 45, word_products = 52;

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
        if constexpr (std::is_signed_v<T>) return int16(_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8));
        else return int16(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        const __m128i bytes = _mm_cvtsi32_si128(base::four_bytes(from)), zero = _mm_setzero_si128();
        if constexpr (std::is_signed_v<T>) {
            const __m128i words = _mm_unpacklo_epi8(bytes, bytes);
            return int32(_mm_srai_epi32(_mm_unpacklo_epi16(words, words), 24));
        } else {
            return int32(_mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, zero), zero));
        }
    }
    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(_mm_add_epi32(sums, _mm_madd_epi16(a, b)));
    }

    template <class Activation> static constexpr int block_length = 16 / sizeof(Activation);
    template <int Rows, int Vectors, class Activation, class Weight>
        requires(sizeof(Activation) == sizeof(Weight))
    [[gnu::always_inline]] static void multiply_block(int32 (&tile)[Rows][Vectors],
                                                      const Activation* const (&rows)[Rows], std::ptrdiff_t k,
                                                      const Weight* panel) {
        repeat<Rows>([&](int row) __attribute__((always_inline)) {
            const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row] + k));
            unroll<4>([&](auto i) __attribute__((always_inline)) {
                const __m128i a = splat<i>(four);
                repeat<Vectors>([&](int v) __attribute__((always_inline)) {
                    Derived::add_products(tile[row][v].data, a, panel + (i * vectors + v) * int{16 / sizeof(Weight)});
                });
            });
        });
    }

    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const __m128i low = _mm_adds_epi16(_mm_packs_epi32(v[0], v[1]), offset);
        const __m128i high = _mm_adds_epi16(_mm_packs_epi32(v[2], v[3]), offset);
        return uint8(_mm_packus_epi16(low, high));
    }
    /// pmuludq takes `a` as unsigned: where it is negative, that adds 2^32 * b, taken off again.
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        const __m128i even = _mm_mul_epu32(a, b);
        const __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
        const __m128i evens = _mm_shuffle_epi32(even, _MM_SHUFFLE(3, 1, 2, 0));  // two low words, two high words
        const __m128i odds = _mm_shuffle_epi32(odd, _MM_SHUFFLE(3, 1, 2, 0));
        low = int32(_mm_unpacklo_epi32(evens, odds));
        high = int32(_mm_sub_epi32(_mm_unpackhi_epi32(evens, odds), _mm_and_si128(_mm_srai_epi32(a, 31), b)));
    }

    /// sums += a * b, with pairs of words at `b`.
    [[gnu::always_inline]] static void add_products(__m128i& sums, __m128i a, const std::int16_t* b) {
        asm volatile(ZEROPOINT_SSE("pmaddwd", "%[b]", "%[a]") ZEROPOINT_SSE("paddd", "%[a]", "%[sums]")
                     : [sums] "+x"(sums), [a] "+x"(a)
                     : [b] "m"(*reinterpret_cast<const __m128i*>(b)));
    }

    static constexpr int word_part = 4;
    [[gnu::always_inline]] static void widen_words(const int16& a, int32& first, int32& second) {
        first = int32(_mm_srai_epi32(_mm_unpacklo_epi16(a, a), 16));
        second = int32(_mm_srai_epi32(_mm_unpackhi_epi16(a, a), 16));
    }
    [[gnu::always_inline]] static void pair_words(const int16& a, const int16& b, int16& first, int16& second) {
        first = int16(_mm_unpacklo_epi16(a, b));
        second = int16(_mm_unpackhi_epi16(a, b));
    }
    [[gnu::always_inline]] static void multiply_words(const int16& a, const int16& b, int32& first, int32& second) {
        const __m128i low = _mm_mullo_epi16(a, b), high = _mm_mulhi_epi16(a, b);
        first = int32(_mm_unpacklo_epi16(low, high));
        second = int32(_mm_unpackhi_epi16(low, high));
    }
    [[gnu::always_inline]] static int16 pack_words(const int32& first, const int32& second) {
        return int16(_mm_packs_epi32(first, second));
    }
    /// 2 * high + (low + 2^14) / 2^15, low being unsigned.
    [[gnu::always_inline]] static int16 multiply_q15(const int16& a, const int16& b) {
        const __m128i high = _mm_mulhi_epi16(a, b), quarters = _mm_srli_epi16(_mm_mullo_epi16(a, b), 14);
        const __m128i rounded = _mm_srli_epi16(_mm_add_epi16(quarters, _mm_set1_epi16(1)), 1);
        return int16(_mm_add_epi16(_mm_add_epi16(high, high), rounded));
    }
    [[gnu::always_inline]] static void store_codes(std::int8_t* to, const int16& words) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
    }

private:
    template <int Index> [[gnu::always_inline]] static __m128i splat(__m128i four) {
        __m128i splat;
        asm volatile(ZEROPOINT_SSE_NAME("pshufd") " %2, %1, %0" : "=x"(splat) : "x"(four), "n"(Index * 0x55));
        return splat;
    }
};

struct sse2_operations : sse_operations<sse2_operations, xsimd::sse2> {};

#if XSIMD_WITH_SSSE3
/// With pmaddubsw and pshufb.
struct ssse3_operations : sse_operations<ssse3_operations, xsimd::ssse3> {
    using base = sse_operations<ssse3_operations, xsimd::ssse3>;
    static constexpr quad_products quads = quad_products::saturating_pairs;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        dot2(sums, pair_sums(a, b), int16(1));
    }
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const std::int8_t* b) {
        add_products(sums.data, a, b);
    }
    using base::dot4_flipped;
    /// The ones are in memory as well, there being no register left.
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, const uint8& magnitudes, const uint8& flips,
                                                    const std::int8_t* b) {
        alignas(16) static constexpr std::int16_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        __m128i a = magnitudes, w = flips;
        asm(ZEROPOINT_SSE("pxor", "%[b]", "%[w]") ZEROPOINT_SSE("pmaddubsw", "%[w]", "%[a]")
                ZEROPOINT_SSE("pmaddwd", "%[ones]", "%[a]") ZEROPOINT_SSE("paddd", "%[a]", "%[sums]")
            : [sums] "+x"(sums.data), [a] "+x"(a), [w] "+x"(w)
            : [ones] "m"(ones), [b] "m"(*reinterpret_cast<const __m128i*>(b)));
    }
    using base::add_products;
    /// The same of quads of bytes.
    [[gnu::always_inline]] static void add_products(__m128i& sums, __m128i a, const std::int8_t* b) {
        asm volatile(ZEROPOINT_SSE("pmaddubsw", "%[b]", "%[a]") ZEROPOINT_SSE("pmaddwd", "%[ones]", "%[a]")
                         ZEROPOINT_SSE("paddd", "%[a]", "%[sums]")
                     : [sums] "+x"(sums), [a] "+x"(a)
                     : [ones] "x"(_mm_set1_epi16(1)), [b] "m"(*reinterpret_cast<const __m128i*>(b)));
    }
    [[gnu::always_inline]] static int16 pair_sums(const uint8& a, const int8& b) {
        return int16(_mm_maddubs_epi16(a, b));
    }
    [[gnu::always_inline]] static uint8 negative_bytes(const uint8& x) {
        return uint8(_mm_cmplt_epi8(x, _mm_setzero_si128()));
    }
    static void sum_flipped(const std::uint8_t* magnitudes, std::ptrdiff_t flips, std::ptrdiff_t count,
                            std::ptrdiff_t step, std::ptrdiff_t windows, std::int32_t* sums) {
        for (std::ptrdiff_t window = 0; window != windows; ++window, magnitudes += step) {
            __m128i sum = _mm_setzero_si128();
            std::ptrdiff_t i = 0;
            for (; i + 16 <= count; i += 16) {
                const __m128i flipped = _mm_and_si128(load<uint8>(magnitudes + i), load<uint8>(magnitudes + flips + i));
                sum = _mm_add_epi64(sum, _mm_sad_epu8(flipped, _mm_setzero_si128()));
            }
            sums[window] += _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum)));
            for (; i < count; ++i) sums[window] += magnitudes[i] & magnitudes[i + flips];
        }
    }
    [[gnu::always_inline]] static int16 multiply_q15(const int16& a, const int16& b) {
        return int16(_mm_mulhrs_epi16(a, b));
    }
    [[gnu::always_inline]] static int16 with_sign(const int16& size, const int16& of) {
        return int16(_mm_sign_epi16(size, of));
    }
    [[gnu::always_inline]] static __m128i load_word_table(const std::int16_t* table) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    }
    [[gnu::always_inline]] static __m128i word_places(const int16& index) {
        return _mm_add_epi16(_mm_mullo_epi16(index, _mm_set1_epi16(514)), _mm_set1_epi16(256));
    }
    [[gnu::always_inline]] static int16 look_up_words(__m128i table, __m128i places) {
        return int16(_mm_shuffle_epi8(table, places));
    }
    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        return bits<bytes16>(_mm_shuffle_epi8(bits<__m128i>(table), bits<__m128i>(index)));
    }
};
#endif

}  // namespace zp::inline v0::kernel

#undef ZEROPOINT_SSE_NAME
#undef ZEROPOINT_SSE
