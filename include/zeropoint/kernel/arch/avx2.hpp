// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/arch/vector_operations.hpp>

namespace zp::inline v0::kernel {

/// A tile is 6 x 16: twelve accumulators, two vectors of weights, one broadcast and one product fill the sixteen registers.
/// Where the ones of vpmaddwd take one as well, weights are operands in memory.
template <class Derived> struct avx2_base : vector_operations<Derived, xsimd::avx2> {
    using base = vector_operations<Derived, xsimd::avx2>;
    using typename base::int16;
    using typename base::int32;
    using typename base::int8;
    using typename base::real;
    using typename base::uint8;

    static constexpr const char* name = "avx2";
    static constexpr int tile_rows = 6, vectors = 2;
    static constexpr quad_products quads = quad_products::saturating_pairs;
    static constexpr bool has_byte_lookup = true;
    static constexpr bool fetches_in_tiles = true;
    static constexpr double byte_products = 120, word_products = 115;

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        if constexpr (std::is_signed_v<T>) return int16(_mm256_cvtepi8_epi16(bytes));
        else return int16(_mm256_cvtepu8_epi16(bytes));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
        if constexpr (std::is_signed_v<T>) return int32(_mm256_cvtepi8_epi32(bytes));
        else return int32(_mm256_cvtepu8_epi32(bytes));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(_mm256_add_epi32(sums, _mm256_madd_epi16(a, b)));
    }
    [[gnu::always_inline]] static void dot2_in_place(int32& sums, const int16& a, const int16& b) {
#if defined(__GNUC__) && !defined(__clang__)
        asm("vpaddd %1, %0, %0" : "+x"(sums.data) : "x"(_mm256_madd_epi16(a, b)));  // as add_pair_sums
#else
        dot2(sums, a, b);
#endif
    }
    /// vpmaddubsw saturates sums of two products: exact only for panels that gemm/pack_panels.hpp has checked.
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        dot2(sums, pair_sums(a, b), int16(1));
    }
    /// The weights come from memory for each row: that is faster than from a register, where g++ would keep them (by 8 % on
    /// Zen 5), and leaves room for six rows.
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, const uint8& magnitudes, const uint8& flips,
                                                    const std::int8_t* b) {
        __m256i flipped;
        asm("vpxor %2, %1, %0" : "=x"(flipped) : "x"(flips.data), "m"(*reinterpret_cast<const __m256i_u*>(b)));
        Derived::dot4(sums, magnitudes, int8(flipped));
    }
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, const uint8& magnitudes, const uint8& flips,
                                                    const int8& b) {
        Derived::dot4(sums, magnitudes, int8(_mm256_xor_si256(flips, b)));
    }
    [[gnu::always_inline]] static int16 pair_sums(const uint8& a, const int8& b) {
        return int16(_mm256_maddubs_epi16(a, b));
    }
    [[gnu::always_inline]] static void add_pair_sums(int16& sums, const uint8& a, const int8& b) {
        const int16 more = pair_sums(a, b);
#if defined(__GNUC__) && !defined(__clang__)
        asm("vpaddw %1, %0, %0" : "+x"(sums.data) : "x"(more.data));  // g++ would add into `more` and copy it back
#else
        sums = int16(_mm256_add_epi16(sums, more));
#endif
    }

    /// Sixteen entries at `places` of a table as one store: what reads the bytes of several waits until all are in the cache.
    template <class Out>
    [[gnu::always_inline]] static void look_up_places(const std::uint8_t* table, const std::int32_t* places, Out* to) {
        const auto four = [&](int i) __attribute__((always_inline)) {
            __m128i entries = _mm_cvtsi32_si128(table[places[i]]);
            entries = _mm_insert_epi8(entries, table[places[i + 1]], 1);
            entries = _mm_insert_epi8(entries, table[places[i + 2]], 2);
            return _mm_insert_epi8(entries, table[places[i + 3]], 3);
        };
        const __m128i low = _mm_unpacklo_epi32(four(0), four(4)), high = _mm_unpacklo_epi32(four(8), four(12));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi64(low, high));
    }

    [[gnu::always_inline]] static real load_first(const float* from, int count) {
        return real(_mm256_maskload_ps(from, first_lanes(count)));
    }
    [[gnu::always_inline]] static int32 load_first(const std::int32_t* from, int count) {
        return int32(_mm256_maskload_epi32(from, first_lanes(count)));
    }
    [[gnu::always_inline]] static real load_halves(const std::uint16_t* from) {
        return base::widened_halves(
            int32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))));
    }
    /// vpackssdw and vpackuswb work in 128-bit halves: four bytes of each vector, and then the other four.
    [[gnu::always_inline]] static uint8 pack_pairs(const int32 (&v)[4], const int16& offset) {
        const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(v[0], v[1]), offset);
        const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(v[2], v[3]), offset);
        return uint8(_mm256_packus_epi16(low, high));
    }
    /// Zen 3 takes vpermd, which restores the order, for twice as long as both unpacks.
    [[gnu::always_inline]] static void store_pairs(void* low, void* high, const uint8& from) {
        const __m128i first = _mm256_castsi256_si128(from), second = _mm256_extracti128_si256(from, 1);
        _mm_storeu_si128(static_cast<__m128i*>(low), _mm_unpacklo_epi32(first, second));
        _mm_storeu_si128(static_cast<__m128i*>(high), _mm_unpackhi_epi32(first, second));
    }
    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        return uint8(_mm256_permutevar8x32_epi32(pack_pairs(v, offset), order));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, const uint8& from) {
        _mm_storeu_si128(static_cast<__m128i*>(low), _mm256_castsi256_si128(from));
        _mm_storeu_si128(static_cast<__m128i*>(high), _mm256_extracti128_si256(from, 1));
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        const __m256i even = _mm256_mul_epi32(a, b);
        const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
        high = int32(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa));
        low = int32(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa));
    }

    [[gnu::always_inline]] static void store_words(std::int16_t* to, const int32& low, const int32& high) {
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), words);
    }
    /// to[2 * i] = a[i], to[2 * i + 1] = b[i] for the codes of 16 lanes.
    [[gnu::always_inline]] static void interleave_words(const std::int16_t* a, const std::int16_t* b,
                                                        std::int16_t* to) {
        const __m256i x = _mm256_permute4x64_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)), 0xd8),
                      y = _mm256_permute4x64_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)), 0xd8);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_unpacklo_epi16(x, y));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 16), _mm256_unpackhi_epi16(x, y));
    }

    [[gnu::always_inline]] static uint8 negative_bytes(const uint8& x) {
        return uint8(_mm256_cmpgt_epi8(_mm256_setzero_si256(), x));
    }
    using base::interleave;
    [[gnu::always_inline]] static void interleave(const std::uint8_t* const (&rows)[2], std::ptrdiff_t at,
                                                  std::uint8_t flip, std::byte* to) {
        const __m128i mask = _mm_set1_epi8(static_cast<char>(flip));
        const auto row = [&](int i) __attribute__((always_inline)) {
            return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i] + at)), mask);
        };
        const __m128i a = row(0), b = row(1);
        auto* out = reinterpret_cast<__m256i*>(to);
        _mm256_storeu_si256(out, _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)));
        _mm256_storeu_si256(out + 1, _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b)));
    }
    static void sum_flipped(const std::uint8_t* magnitudes, std::ptrdiff_t flips, std::ptrdiff_t count,
                            std::ptrdiff_t step, std::ptrdiff_t windows, std::int32_t* sums) {
        const __m256i zero = _mm256_setzero_si256();
        const __m256i places = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
                                                20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
        const __m256i rest = _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(count % 32)), places);
        const auto sums_of = [&](const std::uint8_t* from) __attribute__((always_inline)) {  // in four int64
            const std::uint8_t* last = from + count / 32 * 32;
            const auto flipped = [&](const std::uint8_t* at) __attribute__((always_inline)) {
                return _mm256_and_si256(base::template load<uint8>(at), base::template load<uint8>(at + flips));
            };
            __m256i sum = zero;
            for (; from != last; from += 32) sum = _mm256_add_epi64(sum, _mm256_sad_epu8(flipped(from), zero));
            return _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_and_si256(flipped(from), rest), zero));
        };
        for (; windows > 0; windows -= 4, magnitudes += 4 * step, sums += 4) {
            const std::ptrdiff_t second = windows > 1 ? step : 0, third = windows > 2 ? 2 * step : 0,
                                 fourth = windows > 3 ? 3 * step : 0;
            const __m256i ab =
                              _mm256_or_si256(sums_of(magnitudes), _mm256_slli_epi64(sums_of(magnitudes + second), 32)),
                          cd = _mm256_or_si256(sums_of(magnitudes + third),
                                               _mm256_slli_epi64(sums_of(magnitudes + fourth), 32));
            const __m256i abcd = _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
            const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(abcd), _mm256_extracti128_si256(abcd, 1));
            if (windows >= 4) {
                auto* to = reinterpret_cast<__m128i*>(sums);
                _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(to), four));
            } else {
                std::int32_t single[4];
                _mm_storeu_si128(reinterpret_cast<__m128i*>(single), four);
                for (std::ptrdiff_t i = 0; i != windows; ++i) sums[i] += single[i];
                return;
            }
        }
    }

    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        return base::template bits<bytes16>(
            _mm_shuffle_epi8(base::template bits<__m128i>(table), base::template bits<__m128i>(index)));
    }
    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) {
        return uint8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }
    [[gnu::always_inline]] static uint8 shuffle16(const uint8& table, const uint8& index) {
        return uint8(_mm256_shuffle_epi8(table, index));
    }
    [[gnu::always_inline]] static uint8 select_by_sign(const uint8& condition, const uint8& if_set,
                                                       const uint8& if_not) {
        return uint8(_mm256_blendv_epi8(if_not, if_set, condition));
    }

    static constexpr int word_part = 4;
    [[gnu::always_inline]] static void widen_words(const int16& a, int32& first, int32& second) {
        first = int32(_mm256_srai_epi32(_mm256_unpacklo_epi16(a, a), 16));
        second = int32(_mm256_srai_epi32(_mm256_unpackhi_epi16(a, a), 16));
    }
    [[gnu::always_inline]] static void pair_words(const int16& a, const int16& b, int16& first, int16& second) {
        first = int16(_mm256_unpacklo_epi16(a, b));
        second = int16(_mm256_unpackhi_epi16(a, b));
    }
    [[gnu::always_inline]] static void multiply_words(const int16& a, const int16& b, int32& first, int32& second) {
        const __m256i low = _mm256_mullo_epi16(a, b), high = _mm256_mulhi_epi16(a, b);
        first = int32(_mm256_unpacklo_epi16(low, high));
        second = int32(_mm256_unpackhi_epi16(low, high));
    }
    [[gnu::always_inline]] static int16 pack_words(const int32& first, const int32& second) {
        return int16(_mm256_packs_epi32(first, second));
    }
    [[gnu::always_inline]] static int16 multiply_q15(const int16& a, const int16& b) {
        return int16(_mm256_mulhrs_epi16(a, b));
    }
    [[gnu::always_inline]] static int16 with_sign(const int16& size, const int16& of) {
        return int16(_mm256_sign_epi16(size, of));
    }
    [[gnu::always_inline]] static void store_codes(std::int8_t* to, const int16& words) {
        const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(words, words), 0x08);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
    }

    [[gnu::always_inline]] static void store_first_words(std::int16_t* to, const int16& words) {
        const __m256i first = _mm256_permute4x64_epi64(words, 0x08);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(first));
    }
    [[gnu::always_inline]] static void store_first_codes(std::int8_t* to, const int16& words) {
        const __m256i bytes = _mm256_packs_epi16(words, words);
        const __m128i first = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), first);
    }

    /// Of lanes with even and with odd numbers.
    struct wide_sums {
        __m256i even, odd;
    };
    static constexpr int multiplier_numbers = 2;
    static void put_multiplier(std::int32_t* to, int lane, std::int32_t value) {
        to[lane % 2 * base::lanes + lane / 2 * 2] = value;
    }
    static void put_wide(std::int32_t* to, int lane, std::int64_t value) {
        std::memcpy(to + lane % 2 * base::lanes + lane / 2 * 2, &value, sizeof value);
    }
    [[gnu::always_inline]] static wide_sums load_wide(const std::int32_t* from) {
        return {load_numbers(from), load_numbers(from + base::lanes)};
    }
    [[gnu::always_inline]] static void add_scaled(wide_sums& to, const int32& sums, const std::int32_t* multipliers) {
        to.even = _mm256_add_epi64(to.even, _mm256_mul_epi32(sums, load_numbers(multipliers)));
        to.odd = _mm256_add_epi64(
            to.odd, _mm256_mul_epi32(_mm256_srli_epi64(sums, 32), load_numbers(multipliers + base::lanes)));
    }
    [[gnu::always_inline]] static int32 shift_wide(const wide_sums& sums, int shift) {
        const __m256i even = _mm256_srl_epi64(sums.even, _mm_cvtsi32_si128(shift)),
                      odd = _mm256_sll_epi64(sums.odd, _mm_cvtsi32_si128(32 - shift));
        return int32(_mm256_blend_epi32(even, odd, 0xaa));
    }

private:
    [[gnu::always_inline]] static __m256i load_numbers(const std::int32_t* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
    [[gnu::always_inline]] static __m256i first_lanes(int count) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
};

struct avx2_operations : avx2_base<avx2_operations> {
    using base = avx2_base<avx2_operations>;
    using base::dot4;
    static constexpr bool finishes_in_registers = true;
    /// Weights as an operand in memory, by assembly: a compiler would load them once.
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const std::int8_t* b) {
        __m256i pairs;
        asm("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(a.data), "m"(*reinterpret_cast<const __m256i_u*>(b)));
        dot2(sums, int16(pairs), int16(1));
    }
};

}  // namespace zp::inline v0::kernel
