// The primitives of the integer kernels on AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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
    /// vpunpck works in 128-bit halves: channels {0-3, 8-11} and {4-7, 12-15}.
    static constexpr int interleaved_channel(int lane) { return lane % 4 + lane / 4 % 2 * 8 + lane / 8 * 4; }

    using int32 = xsimd::batch<std::int32_t, xsimd::avx2>;
    using int16 = xsimd::batch<std::int16_t, xsimd::avx2>;
    using int8 = xsimd::batch<std::int8_t, xsimd::avx2>;
    using uint8 = xsimd::batch<std::uint8_t, xsimd::avx2>;
    using real = xsimd::batch<float, xsimd::avx2>;

    template <class Batch, class T> [[gnu::always_inline]] static Batch load(const T* from) {
        return Batch::load_unaligned(from);
    }
    [[gnu::always_inline]] static void store(std::int32_t* to, int32 from) { from.store_unaligned(to); }

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
    /// No instruction, but an order: without it g++ hoists all broadcasts of a step and spills accumulators.
    [[gnu::always_inline]] static void fence([[maybe_unused]] int32 (&sums)[2]) {
#if defined(__GNUC__) && !defined(__clang__)
        asm volatile("" : "+x"(sums[0].data), "+x"(sums[1].data));
#endif
    }

    [[gnu::always_inline]] static void interleave(const std::int16_t* first, const std::int16_t* second,
                                                  int16 (&pairs)[2]) {
        const int16 x = load<int16>(first), y = load<int16>(second);
        pairs[0] = int16(_mm256_unpacklo_epi16(x, y));
        pairs[1] = int16(_mm256_unpackhi_epi16(x, y));
    }
    [[gnu::always_inline]] static void restore_order(int32 (&sums)[2]) {
        const int32 low = sums[0], high = sums[1];
        sums[0] = int32(_mm256_permute2x128_si256(low, high, 0x20));
        sums[1] = int32(_mm256_permute2x128_si256(low, high, 0x31));
    }

    template <class In>
    [[gnu::always_inline]] static void widen(const In* from, std::ptrdiff_t count, std::int32_t zero_point,
                                             std::int16_t* to) {
        const int16 offset(static_cast<std::int16_t>(zero_point));
        std::ptrdiff_t i = 0;
        for (; i + 16 <= count; i += 16) (load_widened(from + i) - offset).store_unaligned(to + i);
        for (; i < count; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero_point);
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

private:
    [[gnu::always_inline]] static int four_bytes(const void* from) {
        int bytes;
        std::memcpy(&bytes, from, sizeof bytes);
        return bytes;
    }
};

}  // namespace kernel
}  // namespace v0
}  // namespace zp
