// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on 512-bit x86 vectors of bytes and words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <immintrin.h>

#include <zeropoint/kernel/arch/vector_operations.hpp>

namespace zp::inline v0::kernel {

/// A tile is 12 x 32: 24 accumulators, two vectors of weights, one broadcast and one product of the 32 registers.
template <class Derived> struct avx512_base : vector_operations<Derived, xsimd::avx512bw> {
    using base = vector_operations<Derived, xsimd::avx512bw>;
    using typename base::int16;
    using typename base::int32;
    using typename base::int8;
    using typename base::real;
    using typename base::uint8;

    static constexpr const char* name = "avx512bw";
    static constexpr int tile_rows = 12, vectors = 2;
    static constexpr quad_products quads = quad_products::saturating_pairs;
    static constexpr bool has_byte_lookup = true;
    static constexpr bool fetches_in_tiles = true;
    /// They are one vector of 512 bits, a chain of gates that takes longer than two of half its width, and beside vectors of 512
    /// bits a processor may start fewer narrower ones: it is all the one or all the other.
    static constexpr int narrow_step_units = 16;
    static constexpr double byte_products = 240, word_products = 230;
    /// Of 3x3 at 56x56x64, 28x28x128 and 14x14x256 with VNNI on a Zen 5: products are twice as fast as with AVX2, caches are not.
    static constexpr winograd_costs winograd{7.8, 39, 6, 130};

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
        if constexpr (std::is_signed_v<T>) return int16(_mm512_cvtepi8_epi16(bytes));
        else return int16(_mm512_cvtepu8_epi16(bytes));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        if constexpr (std::is_signed_v<T>) return int32(_mm512_cvtepi8_epi32(bytes));
        else return int32(_mm512_cvtepu8_epi32(bytes));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(_mm512_add_epi32(sums, _mm512_madd_epi16(a, b)));
    }
    /// vpmaddubsw saturates sums of two products: exact only for panels that gemm/pack_panels.hpp has checked.
    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        dot2(sums, pair_sums(a, b), int16(1));
    }
    [[gnu::always_inline]] static int16 pair_sums(const uint8& a, const int8& b) {
        return int16(_mm512_maddubs_epi16(a, b));
    }

    [[gnu::always_inline]] static real load_first(const float* from, int count) {
        return real(_mm512_maskz_loadu_ps(first_lanes(count), from));
    }
    [[gnu::always_inline]] static int32 load_first(const std::int32_t* from, int count) {
        return int32(_mm512_maskz_loadu_epi32(first_lanes(count), from));
    }
    [[gnu::always_inline]] static real load_halves(const std::uint16_t* from) {
        return real(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
    }
    /// vpackssdw and vpackuswb work in 128-bit quarters; vpermd restores the order.
    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), offset);
        const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), offset);
        return in_order(uint8(_mm512_packus_epi16(low, high)));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, const uint8& from) {
        _mm256_storeu_si256(static_cast<__m256i*>(low), _mm512_castsi512_si256(from));
        _mm256_storeu_si256(static_cast<__m256i*>(high), _mm512_extracti64x4_epi64(from, 1));
    }
    /// The first `count` bytes of each quarter to places `pitch` bytes apart.
    [[gnu::always_inline]] static void store_first_of_quarters(void* to, std::ptrdiff_t pitch, const uint8& from,
                                                               int count) {
        auto* place = static_cast<std::byte*>(to);
        const auto exist = static_cast<__mmask16>((1u << count) - 1);
        _mm_mask_storeu_epi8(place, exist, _mm512_castsi512_si128(from));
        _mm_mask_storeu_epi8(place + pitch, exist, _mm512_extracti32x4_epi32(from, 1));
        _mm_mask_storeu_epi8(place + 2 * pitch, exist, _mm512_extracti32x4_epi32(from, 2));
        _mm_mask_storeu_epi8(place + 3 * pitch, exist, _mm512_extracti32x4_epi32(from, 3));
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        const __m512i even = _mm512_mul_epi32(a, b);
        const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
        high = int32(_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd));
        low = int32(_mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32)));
    }

    [[gnu::always_inline]] static void store_words(std::int16_t* to, const int32& low, const int32& high) {
        const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
        _mm512_storeu_si512(to, _mm512_permutexvar_epi64(order, _mm512_packs_epi32(low, high)));
    }
    /// Four rows of 32 codes: bytes of two rows as words, words of both pairs in turns. Two rows: bytes as words, in turns.
    [[gnu::always_inline]] static void interleave(const std::uint8_t* const (&rows)[4], std::ptrdiff_t at,
                                                  std::uint8_t flip, std::byte* to) {
        const __m512i mask = _mm512_set1_epi8(static_cast<char>(flip));
        const auto pair = [&](int i) __attribute__((always_inline)) {
            constexpr int flipped_or = 0x56;  // (a | b) ^ c
            const __m512i low = load_widened(rows[i] + at), high = load_widened(rows[i + 1] + at);
            return _mm512_ternarylogic_epi32(low, _mm512_slli_epi16(high, 8), mask, flipped_or);
        };
        store_in_turns(pair(0), pair(2), to);
    }
    [[gnu::always_inline]] static void interleave(const std::uint8_t* const (&rows)[2], std::ptrdiff_t at,
                                                  std::uint8_t flip, std::byte* to) {
        const __m512i mask = _mm512_set1_epi16(flip);
        const __m512i a = load_widened(rows[0] + at), b = load_widened(rows[1] + at);
        store_in_turns(_mm512_xor_si512(a, mask), _mm512_xor_si512(b, mask), to);
    }
    /// to[2 * i] = a[i], to[2 * i + 1] = b[i] for the codes of 32 lanes.
    [[gnu::always_inline]] static void interleave_words(const std::int16_t* a, const std::int16_t* b,
                                                        std::int16_t* to) {
        store_in_turns(_mm512_loadu_si512(a), _mm512_loadu_si512(b), to);
    }

    /// Parts that vectors of bytes are loaded from and stored to, of equal size, and what puts rows in turns in each 16 bytes.
    static constexpr int quarters = 4;
    template <int Parts> [[gnu::always_inline]] static uint8 load_parts(const std::uint8_t* const (&from)[Parts]) {
        if constexpr (Parts == 1) {
            return uint8(_mm512_loadu_si512(from[0]));
        } else if constexpr (Parts == 2) {
            const auto half = [&](int i) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[i])); };
            return uint8(_mm512_inserti64x4(_mm512_castsi256_si512(half(0)), half(1), 1));
        } else {
            const auto quarter = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from[i])); };
            __m512i all = _mm512_castsi128_si512(quarter(0));
            all = _mm512_inserti32x4(all, quarter(1), 1);
            all = _mm512_inserti32x4(all, quarter(2), 2);
            return uint8(_mm512_inserti32x4(all, quarter(3), 3));
        }
    }
    template <class Out, int Parts>
    [[gnu::always_inline]] static void store_parts(Out* const (&to)[Parts], const uint8& from) {
        const __m512i all = from;
        if constexpr (Parts == 1) {
            _mm512_storeu_si512(to[0], all);
        } else if constexpr (Parts == 2) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to[0]), _mm512_castsi512_si256(all));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to[1]), _mm512_extracti64x4_epi64(all, 1));
        } else {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to[0]), _mm512_castsi512_si128(all));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to[1]), _mm512_extracti32x4_epi32(all, 1));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to[2]), _mm512_extracti32x4_epi32(all, 2));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to[3]), _mm512_extracti32x4_epi32(all, 3));
        }
    }
    [[gnu::always_inline]] static void stack_rows(const uint8 (&rows)[4], uint8 (&to)[4]) {
        const __m512i low = _mm512_unpacklo_epi8(rows[0], rows[1]), high = _mm512_unpackhi_epi8(rows[0], rows[1]);
        const __m512i more_low = _mm512_unpacklo_epi8(rows[2], rows[3]),
                      more_high = _mm512_unpackhi_epi8(rows[2], rows[3]);
        to[0] = uint8(_mm512_unpacklo_epi16(low, more_low));
        to[1] = uint8(_mm512_unpackhi_epi16(low, more_low));
        to[2] = uint8(_mm512_unpacklo_epi16(high, more_high));
        to[3] = uint8(_mm512_unpackhi_epi16(high, more_high));
    }
    /// Quarter i of all four, in their order, becomes v[i].
    [[gnu::always_inline]] static void transpose_quarters(int32 (&v)[4]) {
        const __m512i even_low = _mm512_shuffle_i32x4(v[0], v[1], 0x88),
                      odd_low = _mm512_shuffle_i32x4(v[0], v[1], 0xdd),
                      even_high = _mm512_shuffle_i32x4(v[2], v[3], 0x88),
                      odd_high = _mm512_shuffle_i32x4(v[2], v[3], 0xdd);
        v[0] = int32(_mm512_shuffle_i32x4(even_low, even_high, 0x88));
        v[1] = int32(_mm512_shuffle_i32x4(odd_low, odd_high, 0x88));
        v[2] = int32(_mm512_shuffle_i32x4(even_low, even_high, 0xdd));
        v[3] = int32(_mm512_shuffle_i32x4(odd_low, odd_high, 0xdd));
    }
    /// pack() of vectors in the order of such quads.
    [[gnu::always_inline]] static uint8 pack_in_quarters(const int32 (&v)[4], const int16& offset) {
        const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), offset);
        const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), offset);
        return uint8(_mm512_packus_epi16(low, high));
    }

    static void sum_flipped(const std::uint8_t* magnitudes, std::ptrdiff_t flips, std::ptrdiff_t count,
                            std::ptrdiff_t step, std::ptrdiff_t windows, std::int32_t* sums) {
        const __mmask64 rest = (__mmask64{1} << (count % 64)) - 1;
        for (std::ptrdiff_t window = 0; window != windows; ++window, magnitudes += step) {
            __m512i sum = _mm512_setzero_si512();
            const auto add = [&](std::ptrdiff_t i, __mmask64 exist) __attribute__((always_inline)) {
                const __m512i flipped = _mm512_and_si512(_mm512_maskz_loadu_epi8(exist, magnitudes + i),
                                                         _mm512_maskz_loadu_epi8(exist, magnitudes + flips + i));
                sum = _mm512_add_epi64(sum, _mm512_sad_epu8(flipped, _mm512_setzero_si512()));
            };
            std::ptrdiff_t i = 0;
            for (; i + 64 <= count; i += 64) add(i, ~__mmask64{0});
            if (rest != 0) add(i, rest);
            sums[window] += static_cast<std::int32_t>(_mm512_reduce_add_epi64(sum));
        }
    }

    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        return base::template bits<bytes16>(
            _mm_shuffle_epi8(base::template bits<__m128i>(table), base::template bits<__m128i>(index)));
    }
    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) {
        return uint8(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }
    [[gnu::always_inline]] static uint8 shuffle16(const uint8& table, const uint8& index) {
        return uint8(_mm512_shuffle_epi8(table, index));
    }
    [[gnu::always_inline]] static uint8 select_by_sign(const uint8& condition, const uint8& if_set,
                                                       const uint8& if_not) {
        const __m512i set = if_set, not_set = if_not;  // what is a macro without optimization converts no batches
        return uint8(_mm512_mask_blend_epi8(_mm512_movepi8_mask(condition), not_set, set));
    }

    /// Of up to four vectors of numbers below 2^16 the lower bytes and the upper ones, 16 dwords of each in the order in which
    /// instructions pack them; and such bytes in the order of the vectors, `count` of them.
    template <int Count>
    [[gnu::always_inline]] static void split_words(const int32 (&from)[Count], uint8& low, uint8& high) {
        static_assert(Count <= 4);
        const __m512i first = _mm512_packus_epi32(from[0], from[Count > 1 ? 1 : 0]),
                      second = Count > 2 ? _mm512_packus_epi32(from[Count > 2 ? 2 : 0], from[Count - 1]) : first,
                      byte = _mm512_set1_epi16(255);
        low = uint8(_mm512_packus_epi16(_mm512_and_si512(first, byte), _mm512_and_si512(second, byte)));
        high = uint8(_mm512_packus_epi16(_mm512_srli_epi16(first, 8), _mm512_srli_epi16(second, 8)));
    }
    /// Bytes of four vectors that two packs of pairs gave, in the order of the vectors.
    [[gnu::always_inline]] static uint8 in_order(const uint8& packed) {
        const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        return uint8(_mm512_permutexvar_epi32(order, packed));
    }
    [[gnu::always_inline]] static void store_in_order(std::uint8_t* to, const uint8& packed, int count) {
        const __m512i bytes = in_order(packed);
        if (count == 64) _mm512_storeu_si512(to, bytes);
        else if (count == 32) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
        else if (count == 16) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(bytes));
        else _mm512_mask_storeu_epi8(to, (__mmask64{1} << count) - 1, bytes);
    }

    /// A table of 1024 bytes is 512 words, of which a shuffle of two vectors finds 64: the words with the entries of 32 places, and each
    /// place's last bit says which byte of its word.
    [[gnu::always_inline]] static uint8 look_up_fine(const std::uint8_t* table, const int32 (&places)[4]) {
        const auto entries = [&](const __m512i& place) __attribute__((always_inline)) {
            const __m512i word = _mm512_srli_epi16(place, 1);
            const __mmask32 bit7 = _mm512_test_epi16_mask(place, _mm512_set1_epi16(128)),
                            bit8 = _mm512_test_epi16_mask(place, _mm512_set1_epi16(256)),
                            bit9 = _mm512_test_epi16_mask(place, _mm512_set1_epi16(512));
            const auto of128 = [&](int part) __attribute__((always_inline)) {
                const std::uint8_t* from = table + 128 * part;
                return _mm512_permutex2var_epi16(_mm512_loadu_si512(from), word, _mm512_loadu_si512(from + 64));
            };
            const auto of256 = [&](int part) __attribute__((always_inline)) {
                return _mm512_mask_blend_epi16(bit7, of128(part), of128(part + 1));
            };
            const __m512i lower = _mm512_mask_blend_epi16(bit8, of256(0), of256(2)),
                          upper = _mm512_mask_blend_epi16(bit8, of256(4), of256(6)),
                          pair = _mm512_mask_blend_epi16(bit9, lower, upper),
                          shift = _mm512_and_si512(_mm512_slli_epi16(place, 3), _mm512_set1_epi16(8));
            return _mm512_and_si512(_mm512_srlv_epi16(pair, shift), _mm512_set1_epi16(255));
        };
        return in_order(uint8(_mm512_packus_epi16(entries(_mm512_packus_epi32(places[0], places[1])),
                                                  entries(_mm512_packus_epi32(places[2], places[3])))));
    }

    /// Rows of a near table (epilogue/near_table.hpp), and entries at places of it; and the lowest byte of each of `count` lanes.
    [[gnu::always_inline]] static int32 look_up_near(const std::uint32_t* rows, const int32& places) {
        const __m512i row = _mm512_srli_epi32(places, 3),
                      start = _mm512_setr_epi32(8, 11, 14, 17, 20, 23, 26, 29, 8, 11, 14, 17, 20, 23, 26, 29);
        const auto of32 = [&](int first) __attribute__((always_inline)) {
            return _mm512_permutex2var_epi32(_mm512_loadu_si512(rows + first), row,
                                             _mm512_loadu_si512(rows + first + 16));
        };
        const __mmask16 odd = _mm512_test_epi32_mask(row, _mm512_set1_epi32(32)),
                        high = _mm512_test_epi32_mask(row, _mm512_set1_epi32(64));
        const __m512i lower = _mm512_mask_blend_epi32(odd, of32(0), of32(32)),
                      upper = _mm512_mask_blend_epi32(odd, of32(64), of32(96)),
                      chosen = _mm512_mask_blend_epi32(high, lower, upper),
                      added = _mm512_srlv_epi32(chosen, _mm512_permutexvar_epi32(places, start)),
                      slope = _mm512_srlv_epi32(places, _mm512_loadu_si512(rows + 128));
        return int32(_mm512_add_epi32(_mm512_add_epi32(_mm512_and_si512(added, _mm512_set1_epi32(7)), slope), chosen));
    }
    [[gnu::always_inline]] static void store_low_bytes(void* to, const int32& from) {
        _mm_storeu_si128(static_cast<__m128i*>(to), _mm512_cvtepi32_epi8(from));
    }

    static constexpr int word_part = 4;
    [[gnu::always_inline]] static void widen_words(const int16& a, int32& first, int32& second) {
        first = int32(_mm512_srai_epi32(_mm512_unpacklo_epi16(a, a), 16));
        second = int32(_mm512_srai_epi32(_mm512_unpackhi_epi16(a, a), 16));
    }
    [[gnu::always_inline]] static void pair_words(const int16& a, const int16& b, int16& first, int16& second) {
        first = int16(_mm512_unpacklo_epi16(a, b));
        second = int16(_mm512_unpackhi_epi16(a, b));
    }
    [[gnu::always_inline]] static void multiply_words(const int16& a, const int16& b, int32& first, int32& second) {
        const __m512i low = _mm512_mullo_epi16(a, b), high = _mm512_mulhi_epi16(a, b);
        first = int32(_mm512_unpacklo_epi16(low, high));
        second = int32(_mm512_unpackhi_epi16(low, high));
    }
    [[gnu::always_inline]] static int16 pack_words(const int32& first, const int32& second) {
        return int16(_mm512_packs_epi32(first, second));
    }
    [[gnu::always_inline]] static int16 multiply_q15(const int16& a, const int16& b) {
        return int16(_mm512_mulhrs_epi16(a, b));
    }
    [[gnu::always_inline]] static int16 with_sign(const int16& size, const int16& of) {
        const __m512i zero = _mm512_setzero_si512(),
                      x = size;  // what is a macro without optimization converts no batches
        return int16(_mm512_mask_sub_epi16(x, _mm512_movepi16_mask(of), zero, x));
    }
    /// vpermw takes the place itself, and up to 31 of them.
    static constexpr bool takes_wide_places = true;
    [[gnu::always_inline]] static int16 load_word_table(const std::int16_t* table) {
        return int16(_mm512_loadu_si512(table));
    }
    [[gnu::always_inline]] static int16 word_places(const int16& index) { return index; }
    [[gnu::always_inline]] static int16 look_up_words(const int16& table, const int16& places) {
        return int16(_mm512_permutexvar_epi16(places, table));
    }
    /// The first `count`: nothing behind them is touched.
    static constexpr bool has_masks = true;
    using base::load_word_lanes, base::store_first_words, base::store_first_codes;
    [[gnu::always_inline]] static void store_codes(std::int8_t* to, const int16& words) { store_codes(to, words, 32); }
    [[gnu::always_inline]] static void store_codes(std::int8_t* to, const int16& words, int count) {
        store_bytes(to, _mm512_cvtsepi16_epi8(words), count);
    }
    [[gnu::always_inline]] static void store_first_codes(std::int8_t* to, const int16& words, int count) {
        store_bytes(to, _mm256_castsi128_si256(_mm512_cvtsepi32_epi8(first_lanes_of(words))), count);
    }
    [[gnu::always_inline]] static int16 load_words(const std::int16_t* from, int count) {
        return int16(_mm512_maskz_loadu_epi16(first_words(count), from));
    }
    [[gnu::always_inline]] static int32 load_word_lanes(const std::int16_t* from, int count) {
        const __m512i words = _mm512_maskz_loadu_epi16(first_words(count), from);
        return int32(_mm512_cvtepi16_epi32(_mm512_castsi512_si256(words)));
    }
    [[gnu::always_inline]] static void store_words(std::int16_t* to, const int16& words, int count) {
        _mm512_mask_storeu_epi16(to, first_words(count), words);
    }
    [[gnu::always_inline]] static void store_first_words(std::int16_t* to, const int16& words, int count) {
        const __m256i first = _mm512_cvtepi32_epi16(first_lanes_of(words));
        _mm512_mask_storeu_epi16(to, first_words(count), _mm512_castsi256_si512(first));
    }

    /// Of lanes with even and with odd numbers.
    struct wide_sums {
        __m512i even, odd;
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
        const __m512i all = sums, odd = _mm512_shuffle_epi32(all, _MM_PERM_DDBB);  // shifts and vpdpbusd share a port
        to.even = _mm512_add_epi64(to.even, _mm512_mul_epi32(all, load_numbers(multipliers)));
        to.odd = _mm512_add_epi64(to.odd, _mm512_mul_epi32(odd, load_numbers(multipliers + base::lanes)));
        keep_wide(to.even);
        keep_wide(to.odd);
    }
    [[gnu::always_inline]] static int32 shift_wide(const wide_sums& sums, int shift) {
        const __m512i even = _mm512_srlv_epi64(sums.even, _mm512_set1_epi64(shift)),
                      odd = _mm512_sllv_epi64(sums.odd, _mm512_set1_epi64(32 - shift));
        return int32(_mm512_mask_blend_epi32(0xaaaa, even, odd));
    }

private:
    /// Or g++ adds what is known early last.
    [[gnu::always_inline]] static void keep_wide([[maybe_unused]] __m512i& sums) {
#if defined(__GNUC__) && !defined(__clang__)
        asm("" : "+v"(sums));
#endif
    }
    /// Words of both, in turns.
    [[gnu::always_inline]] static void store_in_turns(__m512i a, __m512i b, void* to) {
        static constexpr auto order = [] {  // of vpermt2w: bit 5 takes the second operand
            std::array<std::int16_t, 64> words{};
            for (std::size_t i = 0; i != 64; ++i) words[i] = static_cast<std::int16_t>(i / 2 + i % 2 * 32);
            return words;
        }();
        const __m512i first = _mm512_loadu_si512(order.data()), second = _mm512_loadu_si512(order.data() + 32);
        auto* out = static_cast<std::byte*>(to);
        _mm512_storeu_si512(out, _mm512_permutex2var_epi16(a, first, b));
        _mm512_storeu_si512(out + 64, _mm512_permutex2var_epi16(a, second, b));
    }
    [[gnu::always_inline]] static __mmask32 first_words(int count) {
        return count >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((1u << count) - 1);
    }
    [[gnu::always_inline]] static __m512i first_lanes_of(const int16& words) {
        return _mm512_srai_epi32(_mm512_unpacklo_epi16(words, words), 16);
    }
    /// Whole stores where there are some: what reads a part of a masked one waits for the cache.
    [[gnu::always_inline]] static void store_bytes(std::int8_t* to, const __m256i& bytes, int count) {
        if (count >= 32) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
            return;
        }
        const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
        if (count >= 16) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), low);
        const __m128i last = count >= 16 ? high : low;
        std::int8_t* rest = to + (count >= 16 ? 16 : 0);
        if (count % 16 == 8) _mm_storel_epi64(reinterpret_cast<__m128i*>(rest), last);
        else if (count % 16 != 0)
            _mm512_mask_storeu_epi8(rest, (__mmask64{1} << count % 16) - 1, _mm512_castsi128_si512(last));
    }
    [[gnu::always_inline]] static __m512i load_numbers(const std::int32_t* from) { return _mm512_loadu_si512(from); }
    [[gnu::always_inline]] static __mmask16 first_lanes(int count) {
        return count >= 16 ? __mmask16{0xffff} : count <= 0 ? __mmask16{0} : static_cast<__mmask16>((1 << count) - 1);
    }
};

struct avx512bw_operations : avx512_base<avx512bw_operations> {
    /// Of signed quads: twelve rows, two indices and a panel are more than the general registers. They are 6 + 6.
    static constexpr int most_flipped_rows = 11;
};

}  // namespace zp::inline v0::kernel
