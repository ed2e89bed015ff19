// SPDX-License-Identifier: BSD-3-Clause
// The primitives of the integer kernels on the 128-bit vectors of WebAssembly, and with its relaxed dot product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <wasm_simd128.h>

#include <zeropoint/kernel/arch/vector_operations.hpp>

namespace zp::inline v0::kernel {

/// A tile is 4 x 8: where engines compile to the sixteen registers of x86-64, V8 keeps no larger one in them. Bytes have no product that needs fewer
/// instructions than two i32x4.dot_i16x8_s and their additions.
template <class Derived> struct wasm_base : vector_operations<Derived, xsimd::wasm> {
    using base = vector_operations<Derived, xsimd::wasm>;
    using typename base::int16;
    using typename base::int32;
    using typename base::int8;
    using typename base::uint8;

    static constexpr const char* name = "wasm";
    static constexpr int tile_rows = 4, vectors = 2;
    static constexpr quad_products quads = quad_products::none;
    static constexpr bool has_byte_lookup = true;
    static constexpr double byte_products = 45, word_products = 52;

    template <class T> [[gnu::always_inline]] static int16 load_widened(const T* from) {
        if constexpr (std::is_signed_v<T>) return int16(wasm_i16x8_load8x8(from));
        else return int16(wasm_u16x8_load8x8(from));
    }
    template <class T> [[gnu::always_inline]] static int32 load_lanes(const T* from) {
        const v128_t bytes = wasm_v128_load32_zero(from);
        if constexpr (std::is_signed_v<T>)
            return int32(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(bytes)));
        else return int32(wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(bytes)));
    }
    [[gnu::always_inline]] static int16 broadcast(const std::int16_t* from) {
        return int16(wasm_v128_load32_splat(from));
    }
    [[gnu::always_inline]] static uint8 broadcast(const std::uint8_t* from) {
        return uint8(wasm_v128_load32_splat(from));
    }

    [[gnu::always_inline]] static void dot2(int32& sums, const int16& a, const int16& b) {
        sums = int32(wasm_i32x4_add(sums, wasm_i32x4_dot_i16x8(a, b)));
    }

    [[gnu::always_inline]] static uint8 pack(const int32 (&v)[4], const int16& offset) {
        const v128_t low = wasm_i16x8_add_sat(wasm_i16x8_narrow_i32x4(v[0], v[1]), offset);
        const v128_t high = wasm_i16x8_add_sat(wasm_i16x8_narrow_i32x4(v[2], v[3]), offset);
        return uint8(wasm_u8x16_narrow_i16x8(low, high));
    }
    [[gnu::always_inline]] static void store_halves(void* low, void* high, const uint8& from) {
        wasm_v128_store64_lane(low, from, 0);
        wasm_v128_store64_lane(high, from, 1);
    }
    [[gnu::always_inline]] static void multiply_wide(const int32& a, const int32& b, int32& high, int32& low) {
        const v128_t first = wasm_i64x2_extmul_low_i32x4(a, b), second = wasm_i64x2_extmul_high_i32x4(a, b);
        low = int32(wasm_i32x4_shuffle(first, second, 0, 2, 4, 6));
        high = int32(wasm_i32x4_shuffle(first, second, 1, 3, 5, 7));
    }

    /// i8x16.swizzle gives 0 for indices from 16 on.
    [[gnu::always_inline]] static bytes16 shuffle_bytes(const bytes16& table, const bytes16& index) {
        return base::template bits<bytes16>(
            wasm_i8x16_swizzle(base::template bits<v128_t>(table), base::template bits<v128_t>(index)));
    }
    [[gnu::always_inline]] static uint8 broadcast16(const std::uint8_t* from) { return uint8(wasm_v128_load(from)); }
    [[gnu::always_inline]] static uint8 shuffle16(const uint8& table, const uint8& index) {
        return uint8(wasm_i8x16_swizzle(table, index));
    }

    static constexpr int word_part = 4;
    [[gnu::always_inline]] static void widen_words(const int16& a, int32& first, int32& second) {
        first = int32(wasm_i32x4_extend_low_i16x8(a));
        second = int32(wasm_i32x4_extend_high_i16x8(a));
    }
    [[gnu::always_inline]] static void pair_words(const int16& a, const int16& b, int16& first, int16& second) {
        first = int16(wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
        second = int16(wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
    }
    [[gnu::always_inline]] static void multiply_words(const int16& a, const int16& b, int32& first, int32& second) {
        first = int32(wasm_i32x4_extmul_low_i16x8(a, b));
        second = int32(wasm_i32x4_extmul_high_i16x8(a, b));
    }
    [[gnu::always_inline]] static int16 pack_words(const int32& first, const int32& second) {
        return int16(wasm_i16x8_narrow_i32x4(first, second));
    }
    [[gnu::always_inline]] static int16 multiply_q15(const int16& a, const int16& b) {
        return int16(wasm_i16x8_q15mulr_sat(a, b));
    }
    [[gnu::always_inline]] static void store_codes(std::int8_t* to, const int16& words) {
        wasm_v128_store64_lane(to, wasm_i8x16_narrow_i16x8(words, words), 0);
    }
};

struct wasm_operations : wasm_base<wasm_operations> {};

#ifdef __wasm_relaxed_simd__
/// With i32x4.relaxed_dot_i8x16_i7x16_add_s. Engines agree on it where the second operand is below 128: pmaddubsw takes it
/// as unsigned, sdot as signed, and sums of pairs fit int16. Codes of more than 7 bits are multiplied as pairs.
struct wasm_relaxed_operations : wasm_base<wasm_relaxed_operations> {
    static constexpr const char* name = "wasm_relaxed";
    static constexpr quad_products quads = quad_products::seven_bits;

    [[gnu::always_inline]] static void dot4(int32& sums, const uint8& a, const int8& b) {
        sums = int32(wasm_i32x4_relaxed_dot_i8x16_i7x16_add(b, a, sums));
    }
};
#endif

}  // namespace zp::inline v0::kernel
