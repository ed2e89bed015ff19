// The primitives of the integer kernels on AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <immintrin.h>
#include <xsimd/xsimd.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// See portable_operations for what each member means. A tile is 6 x 16: twelve accumulators, two vectors of weights,
/// one broadcast and one product fill the sixteen registers.
struct avx2_operations {
    static constexpr const char* name = "avx2";
    static constexpr int tile_rows = 6, vectors = 2, lanes = 8;
    static constexpr bool has_batches = true;
    static constexpr bool has_dot4 = true;
    static constexpr bool pair_sums_saturate = true;
    static constexpr double byte_products = 120, word_products = 115;
    static constexpr bool has_byte_lookup = true;

    using int32 = xsimd::batch<std::int32_t, xsimd::avx2>;
    using int16 = xsimd::batch<std::int16_t, xsimd::avx2>;
    using int8 = xsimd::batch<std::int8_t, xsimd::avx2>;
    using uint8 = xsimd::batch<std::uint8_t, xsimd::avx2>;
    using real = xsimd::batch<float, xsimd::avx2>;

    template <class Batch, class T> [[gnu::always_inline]] static Batch load(const T* from) {
        return Batch::load_unaligned(from);
    }
    [[gnu::always_inline]] static void store(std::int32_t* to, int32 from) { from.store_unaligned(to); }
    [[gnu::always_inline]] static void store(std::int16_t* to, int16 from) { from.store_unaligned(to); }

    [[gnu::always_inline]] static int16 load_widened(const std::int8_t* from) {
        return int16(_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }
    [[gnu::always_inline]] static int16 load_widened(const std::uint8_t* from) {
        return int16(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }

    [[gnu::always_inline]] static int16 broadcast(const std::int16_t* from) {
        return int16(_mm256_set1_epi32(four_bytes(from)));
    }
    [[gnu::always_inline]] static uint8 broadcast(const std::uint8_t* from) {
        return uint8(_mm256_set1_epi32(four_bytes(from)));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, int16 a, int16 b) {
        sums = int32(_mm256_add_epi32(sums, _mm256_madd_epi16(a, b)));
    }
    /// vpmaddubsw saturates sums of two products: exact only for panels that pack.hpp has checked.
    [[gnu::always_inline]] static void dot4(int32& sums, uint8 a, int8 b) {
        sums = int32(_mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1))));
    }
    /// Exact for magnitudes up to 128 and all weights: 2 * 128 * -128 = -32768. The weights come from memory for each
    /// row: that is faster than from a register, where g++ would keep them (by 8 % on Zen 5), and leaves room for six rows.
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, uint8 magnitudes, uint8 flips, const std::int8_t* b) {
        __m256i flipped;
        asm("vpxor %2, %1, %0" : "=x"(flipped) : "x"(flips.data), "m"(*reinterpret_cast<const __m256i_u*>(b)));
        dot4(sums, magnitudes, int8(flipped));
    }
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, uint8 magnitudes, uint8 flips, int8 b) {
        dot4(sums, magnitudes, int8(_mm256_xor_si256(flips, b)));
    }
    [[gnu::always_inline]] static void add(int32& sums, int32 more) { sums += more; }
    [[gnu::always_inline]] static void add(int32& sums, std::int32_t more) { sums += int32(more); }
    [[gnu::always_inline]] static int16 pair_sums(uint8 a, int8 b) { return int16(_mm256_maddubs_epi16(a, b)); }
    [[gnu::always_inline]] static void add_pair_sums(int16& sums, uint8 a, int8 b) {
        const int16 more = pair_sums(a, b);
#if defined(__GNUC__) && !defined(__clang__)
        asm("vpaddw %1, %0, %0" : "+x"(sums.data) : "x"(more.data));  // g++ would add into `more` and copy it back
#else
        sums = int16(_mm256_add_epi16(sums, more));
#endif
    }
    [[gnu::always_inline]] static void add_widened(int32& sums, int16 pairs) { dot2(sums, pairs, int16(1)); }
    /// No instruction, but an order: without it g++ hoists all broadcasts of a step and spills accumulators.
    template <class Sums> [[gnu::always_inline]] static void fence([[maybe_unused]] Sums (&sums)[2]) {
#if defined(__GNUC__) && !defined(__clang__)
        asm volatile("" : "+x"(sums[0].data), "+x"(sums[1].data));
#endif
    }

    [[gnu::always_inline]] static void memory_fence() {
#if defined(__GNUC__) && !defined(__clang__)
        asm volatile("" ::: "memory");
#endif
    }

    /// No instruction either: g++ would load an operand of two multiplications twice.
    template <class Batch> [[gnu::always_inline]] static void keep([[maybe_unused]] Batch& operand) {
#if defined(__GNUC__) && !defined(__clang__)
        asm volatile("" : "+x"(operand.data));
#endif
    }

    [[gnu::always_inline]] static void interleave(const std::uint8_t* const (&rows)[4], std::ptrdiff_t at,
                                                  std::uint8_t flip, std::byte* to) {
        const __m128i mask = _mm_set1_epi8(static_cast<char>(flip));
        const auto row = [&](int i) __attribute__((always_inline)) {
            return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i] + at)), mask);
        };
        const __m128i a = row(0), b = row(1), c = row(2), d = row(3);
        const __m128i ab_low = _mm_unpacklo_epi8(a, b), ab_high = _mm_unpackhi_epi8(a, b);
        const __m128i cd_low = _mm_unpacklo_epi8(c, d), cd_high = _mm_unpackhi_epi8(c, d);
        auto* out = reinterpret_cast<__m128i*>(to);
        _mm_storeu_si128(out, _mm_unpacklo_epi16(ab_low, cd_low));
        _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(ab_low, cd_low));
        _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(ab_high, cd_high));
        _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(ab_high, cd_high));
    }
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
    [[gnu::always_inline]] static void gather(const std::uint8_t* from, const std::uint8_t* index, std::uint32_t flip,
                                              std::byte* to) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m128i gathered = _mm_shuffle_epi8(bytes, _mm_loadu_si128(reinterpret_cast<const __m128i*>(index)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         _mm_xor_si128(gathered, _mm_set1_epi32(static_cast<int>(flip))));
    }

    template <class In>
    [[gnu::always_inline]] static void widen(const In* from, std::ptrdiff_t count, std::int32_t zero_point,
                                             std::int16_t* to) {
        const int16 offset(static_cast<std::int16_t>(zero_point));
        std::ptrdiff_t i = 0;
        for (; i + 16 <= count; i += 16) (load_widened(from + i) - offset).store_unaligned(to + i);
        for (; i < count; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero_point);
    }

    static void split_signs(const std::uint8_t* from, std::ptrdiff_t count, std::uint8_t flip, std::uint8_t* magnitudes,
                            std::uint8_t* flips) {
        const uint8 mask(flip);
        std::ptrdiff_t i = 0;
        for (; i + 32 <= count; i += 32) {
            const __m256i codes = _mm256_xor_si256(load<uint8>(from + i), mask);
            uint8(_mm256_abs_epi8(codes)).store_unaligned(magnitudes + i);
            uint8(_mm256_cmpgt_epi8(_mm256_setzero_si256(), codes)).store_unaligned(flips + i);
        }
        for (; i < count; ++i) {
            const auto code = static_cast<std::uint8_t>(from[i] ^ flip);
            flips[i] = code < 128 ? std::uint8_t{0} : std::uint8_t{0xff};
            magnitudes[i] = static_cast<std::uint8_t>((code ^ flips[i]) - flips[i]);
        }
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
                return _mm256_and_si256(load<uint8>(at), load<uint8>(at + flips));
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

    /// One tile row of results. 8-bit codes are in range already, so the saturation of the packs changes nothing.
    [[gnu::always_inline]] static void store_row(std::uint8_t* to, int32 first, int32 second) {
        const __m256i words = _mm256_packs_epi32(first, second);
        const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi32(bytes, _MM_SHUFFLE(3, 1, 2, 0)));
    }
    [[gnu::always_inline]] static void store_row(std::int8_t* to, int32 first, int32 second) {
        const __m256i words = _mm256_packs_epi32(first, second);
        const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi32(bytes, _MM_SHUFFLE(3, 1, 2, 0)));
    }
    [[gnu::always_inline]] static void store_row(std::int32_t* to, int32 first, int32 second) {
        first.store_unaligned(to);
        second.store_unaligned(to + 8);
    }
    [[gnu::always_inline]] static void store_row(float* to, real first, real second) {
        first.store_unaligned(to);
        second.store_unaligned(to + 8);
    }

    [[gnu::always_inline]] static real load_first(const float* from, int count) {
        return real(_mm256_maskload_ps(from, first_lanes(count)));
    }
    [[gnu::always_inline]] static int32 load_first(const std::int32_t* from, int count) {
        return int32(_mm256_maskload_epi32(from, first_lanes(count)));
    }

    /// vpackssdw and vpackuswb work in 128-bit halves; vpermd restores the order.
    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], int16 offset) {
        const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(v[0], v[1]), offset);
        const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(v[2], v[3]), offset);
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        return uint8(_mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, uint8 from) {
        _mm_storeu_si128(static_cast<__m128i*>(low), _mm256_castsi256_si128(from));
        _mm_storeu_si128(static_cast<__m128i*>(high), _mm256_extracti128_si256(from, 1));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
        if constexpr (std::is_signed_v<T>) return int32(_mm256_cvtepi8_epi32(bytes));
        else return int32(_mm256_cvtepu8_epi32(bytes));
    }

    [[gnu::always_inline]] static void multiply_wide(int32 a, int32 b, int32& high, int32& low) {
        const __m256i even = _mm256_mul_epi32(a, b);
        const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
        high = int32(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa));
        low = int32(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa));
    }

    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) {
        return uint8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }
    [[gnu::always_inline]] static uint8 shuffle16(uint8 table, uint8 index) {
        return uint8(_mm256_shuffle_epi8(table, index));
    }
    template <int Bits> [[gnu::always_inline]] static uint8 shift_left(uint8 x) {
        return uint8(_mm256_slli_epi16(x, Bits));
    }
    [[gnu::always_inline]] static uint8 select_by_sign(uint8 condition, uint8 if_set, uint8 if_not) {
        return uint8(_mm256_blendv_epi8(if_not, if_set, condition));
    }

private:
    [[gnu::always_inline]] static __m256i first_lanes(int count) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    [[gnu::always_inline]] static int four_bytes(const void* from) {
        int bytes;
        std::memcpy(&bytes, from, sizeof bytes);
        return bytes;
    }
};

}  // namespace kernel
}  // namespace v0
}  // namespace zp
