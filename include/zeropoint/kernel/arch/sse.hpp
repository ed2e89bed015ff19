// The primitives of the integer kernels on 128-bit x86 vectors, from the SSE2 of every x86-64 machine on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <xsimd/xsimd.hpp>

#if XSIMD_WITH_SSSE3
#include <tmmintrin.h>
#endif

namespace zp {
inline namespace v0 {
namespace kernel {

/// See portable_operations for what each member means. `Base` is xsimd::sse2, or xsimd::ssse3 which has pmaddubsw. A
/// tile is 6 x 8, as many registers as AVX2's.
template <class Base> struct sse_operations {
    static constexpr const char* name = Base::name();
    static constexpr int tile_rows = 6, vectors = 2, lanes = 4;
    static constexpr bool has_batches = true;
    static constexpr bool has_dot4 = std::is_base_of_v<xsimd::sse3, Base> && !std::is_same_v<xsimd::sse3, Base>;
    static constexpr bool pair_sums_saturate = true;
    static constexpr double byte_products = 45, word_products = 52;
    static constexpr bool has_byte_lookup = false;

    using int32 = xsimd::batch<std::int32_t, Base>;
    using int16 = xsimd::batch<std::int16_t, Base>;
    using int8 = xsimd::batch<std::int8_t, Base>;
    using uint8 = xsimd::batch<std::uint8_t, Base>;
    using real = xsimd::batch<float, Base>;

    template <class Batch, class T> [[gnu::always_inline]] static Batch load(const T* from) {
        return Batch::load_unaligned(from);
    }
    [[gnu::always_inline]] static void store(std::int32_t* to, int32 from) { from.store_unaligned(to); }
    [[gnu::always_inline]] static void store(std::int16_t* to, int16 from) { from.store_unaligned(to); }

    [[gnu::always_inline]] static int16 load_widened(const std::int8_t* from) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
        return int16(_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8));
    }
    [[gnu::always_inline]] static int16 load_widened(const std::uint8_t* from) {
        return int16(_mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)), _mm_setzero_si128()));
    }

    [[gnu::always_inline]] static int16 broadcast(const std::int16_t* from) {
        return int16(_mm_set1_epi32(four_bytes(from)));
    }
    [[gnu::always_inline]] static uint8 broadcast(const std::uint8_t* from) {
        return uint8(_mm_set1_epi32(four_bytes(from)));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, int16 a, int16 b) {
        sums = int32(_mm_add_epi32(sums, _mm_madd_epi16(a, b)));
    }
    [[gnu::always_inline]] static void dot4([[maybe_unused]] int32& sums, [[maybe_unused]] uint8 a,
                                            [[maybe_unused]] int8 b) {
#if XSIMD_WITH_SSSE3
        if constexpr (has_dot4) {
            sums = int32(_mm_add_epi32(sums, _mm_madd_epi16(_mm_maddubs_epi16(a, b), _mm_set1_epi16(1))));
        }
#endif
    }
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, uint8 magnitudes, uint8 flips, int8 b) {
        dot4(sums, magnitudes, int8(_mm_xor_si128(flips, b)));
    }
    [[gnu::always_inline]] static void dot4_flipped(int32& sums, uint8 magnitudes, uint8 flips, const std::int8_t* b) {
        dot4_flipped(sums, magnitudes, flips, load<int8>(b));
    }
    [[gnu::always_inline]] static void add(int32& sums, int32 more) { sums += more; }
    [[gnu::always_inline]] static void add(int32& sums, std::int32_t more) { sums += int32(more); }
    [[gnu::always_inline]] static int16 pair_sums([[maybe_unused]] uint8 a, [[maybe_unused]] int8 b) {
#if XSIMD_WITH_SSSE3
        if constexpr (has_dot4) return int16(_mm_maddubs_epi16(a, b));
#endif
        return int16(0);
    }
    [[gnu::always_inline]] static void add_pair_sums(int16& sums, uint8 a, int8 b) {
        sums = int16(_mm_add_epi16(sums, pair_sums(a, b)));
    }
    [[gnu::always_inline]] static void add_widened(int32& sums, int16 pairs) { dot2(sums, pairs, int16(1)); }
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

    template <class Batch> [[gnu::always_inline]] static void keep([[maybe_unused]] Batch& vector) {
#if defined(__GNUC__) && !defined(__clang__)
        asm volatile("" : "+x"(vector.data));
#endif
    }

    [[gnu::always_inline]] static void interleave(const std::uint8_t* const (&rows)[4], std::ptrdiff_t at,
                                                  std::uint8_t flip, std::byte* to) {
        const __m128i ab = interleave_bytes(rows[0] + at, rows[1] + at, flip);
        const __m128i cd = interleave_bytes(rows[2] + at, rows[3] + at, flip);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi16(ab, cd));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + 1, _mm_unpackhi_epi16(ab, cd));
    }
    [[gnu::always_inline]] static void interleave(const std::uint8_t* const (&rows)[2], std::ptrdiff_t at,
                                                  std::uint8_t flip, std::byte* to) {
        const __m128i pairs = interleave_bytes(rows[0] + at, rows[1] + at, flip), zero = _mm_setzero_si128();
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi8(pairs, zero));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + 1, _mm_unpackhi_epi8(pairs, zero));
    }
    [[gnu::always_inline]] static void gather(const std::uint8_t* from, const std::uint8_t* index, std::uint32_t flip,
                                              std::byte* to) {
        std::uint8_t gathered[16];
#if XSIMD_WITH_SSSE3
        if constexpr (has_dot4) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
            const __m128i places = _mm_loadu_si128(reinterpret_cast<const __m128i*>(index));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(gathered), _mm_shuffle_epi8(bytes, places));
        }
#endif
        if constexpr (!has_dot4)
            for (int i = 0; i != 16; ++i) gathered[i] = index[i] < 16 ? from[index[i]] : std::uint8_t{0};
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(gathered)),
                                       _mm_set1_epi32(static_cast<int>(flip))));
    }

    template <class In>
    [[gnu::always_inline]] static void widen(const In* from, std::ptrdiff_t count, std::int32_t zero_point,
                                             std::int16_t* to) {
        const int16 offset(static_cast<std::int16_t>(zero_point));
        std::ptrdiff_t i = 0;
        for (; i + 8 <= count; i += 8) (load_widened(from + i) - offset).store_unaligned(to + i);
        for (; i < count; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero_point);
    }

    static void split_signs(const std::uint8_t* from, std::ptrdiff_t count, std::uint8_t flip, std::uint8_t* magnitudes,
                            std::uint8_t* flips) {
        const uint8 mask(flip);
        std::ptrdiff_t i = 0;
        for (; i + 16 <= count; i += 16) {
            const __m128i codes = _mm_xor_si128(load<uint8>(from + i), mask),
                          negative = _mm_cmplt_epi8(codes, _mm_setzero_si128());
            uint8(_mm_sub_epi8(_mm_xor_si128(codes, negative), negative)).store_unaligned(magnitudes + i);
            uint8(negative).store_unaligned(flips + i);
        }
        for (; i < count; ++i) {
            const auto code = static_cast<std::uint8_t>(from[i] ^ flip);
            flips[i] = code < 128 ? std::uint8_t{0} : std::uint8_t{0xff};
            magnitudes[i] = static_cast<std::uint8_t>((code ^ flips[i]) - flips[i]);
        }
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

    [[gnu::always_inline]] static void store_row(std::uint8_t* to, int32 first, int32 second) {
        const __m128i words = _mm_packs_epi32(first, second);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
    }
    [[gnu::always_inline]] static void store_row(std::int8_t* to, int32 first, int32 second) {
        const __m128i words = _mm_packs_epi32(first, second);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
    }
    [[gnu::always_inline]] static void store_row(std::int32_t* to, int32 first, int32 second) {
        first.store_unaligned(to);
        second.store_unaligned(to + 4);
    }
    [[gnu::always_inline]] static void store_row(float* to, real first, real second) {
        first.store_unaligned(to);
        second.store_unaligned(to + 4);
    }

    template <class T> [[gnu::always_inline]] static auto load_first(const T* from, int count) {
        if (count >= 4) return xsimd::batch<T, Base>::load_unaligned(from);
        T values[4] = {};
        for (int i = 0; i < count; ++i) values[i] = from[i];
        return xsimd::batch<T, Base>::load_unaligned(values);
    }

    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], int16 offset) {
        const __m128i low = _mm_adds_epi16(_mm_packs_epi32(v[0], v[1]), offset);
        const __m128i high = _mm_adds_epi16(_mm_packs_epi32(v[2], v[3]), offset);
        return uint8(_mm_packus_epi16(low, high));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, uint8 from) {
        _mm_storel_epi64(static_cast<__m128i*>(low), from);
        _mm_storel_epi64(static_cast<__m128i*>(high), _mm_unpackhi_epi64(from, from));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        const __m128i bytes = _mm_cvtsi32_si128(four_bytes(from));
        if constexpr (std::is_signed_v<T>) {
            const __m128i words = _mm_unpacklo_epi8(bytes, bytes);
            return int32(_mm_srai_epi32(_mm_unpacklo_epi16(words, words), 24));
        } else {
            const __m128i zero = _mm_setzero_si128();
            return int32(_mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, zero), zero));
        }
    }

    /// pmuludq takes `a` as unsigned: where it is negative, that adds 2^32 * b, taken off again.
    [[gnu::always_inline]] static void multiply_wide(int32 a, int32 b, int32& high, int32& low) {
        const __m128i even = _mm_mul_epu32(a, b);
        const __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
        const __m128i evens = _mm_shuffle_epi32(even, _MM_SHUFFLE(3, 1, 2, 0));  // two low words, two high words
        const __m128i odds = _mm_shuffle_epi32(odd, _MM_SHUFFLE(3, 1, 2, 0));
        low = int32(_mm_unpacklo_epi32(evens, odds));
        high = int32(_mm_sub_epi32(_mm_unpackhi_epi32(evens, odds), _mm_and_si128(_mm_srai_epi32(a, 31), b)));
    }

private:
    [[gnu::always_inline]] static __m128i interleave_bytes(const std::uint8_t* first, const std::uint8_t* second,
                                                           std::uint8_t flip) {
        const __m128i pairs = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(first)),
                                                _mm_loadl_epi64(reinterpret_cast<const __m128i*>(second)));
        return _mm_xor_si128(pairs, _mm_set1_epi8(static_cast<char>(flip)));
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
