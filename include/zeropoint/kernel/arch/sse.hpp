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
    static constexpr int interleaved_channel(int lane) { return lane; }

    using int32 = xsimd::batch<std::int32_t, Base>;
    using int16 = xsimd::batch<std::int16_t, Base>;
    using int8 = xsimd::batch<std::int8_t, Base>;
    using uint8 = xsimd::batch<std::uint8_t, Base>;
    using real = xsimd::batch<float, Base>;

    template <class Batch, class T> [[gnu::always_inline]] static Batch load(const T* from) {
        return Batch::load_unaligned(from);
    }
    [[gnu::always_inline]] static void store(std::int32_t* to, int32 from) { from.store_unaligned(to); }

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
    [[gnu::always_inline]] static void fence([[maybe_unused]] int32 (&sums)[2]) {
#if defined(__GNUC__) && !defined(__clang__)
        asm volatile("" : "+x"(sums[0].data), "+x"(sums[1].data));
#endif
    }

    [[gnu::always_inline]] static void interleave(const std::int16_t* first, const std::int16_t* second,
                                                  int16 (&pairs)[2]) {
        const int16 x = load<int16>(first), y = load<int16>(second);
        pairs[0] = int16(_mm_unpacklo_epi16(x, y));
        pairs[1] = int16(_mm_unpackhi_epi16(x, y));
    }
    [[gnu::always_inline]] static void restore_order(int32 (&)[2]) {}

    template <class In>
    [[gnu::always_inline]] static void widen(const In* from, std::ptrdiff_t count, std::int32_t zero_point,
                                             std::int16_t* to) {
        const int16 offset(static_cast<std::int16_t>(zero_point));
        std::ptrdiff_t i = 0;
        for (; i + 8 <= count; i += 8) (load_widened(from + i) - offset).store_unaligned(to + i);
        for (; i < count; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero_point);
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
