// SPDX-License-Identifier: BSD-3-Clause
// Floats to symmetric int8 codes by their largest magnitude, along rows and down columns.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// Magnitudes are compared as integers: the bits of a positive float are in its order, those of infinity above all finite
// ones, those of NaN above infinity. So one comparison at the end finds all that is not finite.

namespace zp::inline v0::kernel {

/// Whether an architecture has vectors of floats like scalars, and of codes beside them.
template <class Arch> inline constexpr bool has_code_vectors = has_ieee_vectors<Arch>&& operations<Arch>::has_batches;

/// The bits of |x|.
[[gnu::always_inline]] inline std::int32_t magnitude_bits(float x) noexcept {
    return std::bit_cast<std::int32_t>(x) & 0x7fffffff;
}
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<std::int32_t, Arch> magnitude_bits(
    const xsimd::batch<float, Arch>& x) noexcept {
    return xsimd::bitwise_cast<std::int32_t>(x) & xsimd::batch<std::int32_t, Arch>(0x7fffffff);
}

inline constexpr std::int32_t bits_of_infinity = 0x7f800000;

/// The scale of codes in [-most, most] for values up to the magnitude with these bits: max(magnitude / most, 2^-100), NaN of what
/// is not finite. Its inverse and products with sums are then normal floats, and codes need no clamp: |x| * (1 / scale) is
/// below most + 0.5 where that is at most 32767.
inline float symmetric_scale(std::int32_t bits, float most = 127.0f) noexcept {
    if (bits >= bits_of_infinity) return not_a_number;
    return std::max(std::bit_cast<float>(bits) / most, 0x1p-100f);
}

/// The largest magnitude_bits() of `count` values, bits_of_infinity or more where one of them is not finite.
template <class Arch> std::int32_t largest_magnitude(const float* x, std::size_t count) noexcept {
    std::int32_t largest = 0;
    std::size_t i = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        using ints = xsimd::batch<std::int32_t, Arch>;
        constexpr std::size_t size = floats::size;
        if (count >= size) {
            const auto bits = [&](std::size_t at) __attribute__((always_inline)) {
                return magnitude_bits(floats::load_unaligned(x + at));
            };
            ints most[4];
            for (ints& part : most) part = ints(0);
            for (; i + 4 * size <= count; i += 4 * size)
                unroll<4>([&](auto v)
                              __attribute__((always_inline)) { most[v] = xsimd::max(most[v], bits(i + v * size)); });
            for (; i + size <= count; i += size) most[0] = xsimd::max(most[0], bits(i));
            if (i != count) most[1] = xsimd::max(most[1], bits(count - size));
            const ints all = xsimd::max(xsimd::max(most[0], most[1]), xsimd::max(most[2], most[3]));
            // Reductions of finite floats are right everywhere.
            if (!xsimd::all(all < ints(bits_of_infinity))) return bits_of_infinity;
            return std::bit_cast<std::int32_t>(xsimd::reduce_max(xsimd::bitwise_cast<float>(all)));
        }
    }
    for (; i != count; ++i) largest = std::max(largest, magnitude_bits(x[i]));
    return largest;
}

/// largest[c] = max(largest[c], magnitude_bits(x[c])): a row more of `count` columns.
template <class Arch> void widen_magnitudes(const float* x, std::size_t count, std::int32_t* largest) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            const auto bits = magnitude_bits(load_number<decltype(number)>(x + i));
            const auto before = load_number<std::remove_const_t<decltype(bits)>>(largest + i);
            store_number(xsimd::max(before, bits), largest + i);
        });
}

/// scales[c] = symmetric_scale(bits[c]) and inverses[c] = 1 / scales[c]; gives whether all are finite.
template <class Arch>
bool symmetric_scales(const std::int32_t* bits, std::size_t count, float* scales, float* inverses) noexcept {
    std::int32_t largest = 0;
    for (std::size_t c = 0; c != count; ++c) largest = std::max(largest, bits[c]);
    const bool are_finite = largest < bits_of_infinity;
    if (!are_finite) {
        for (std::size_t c = 0; c != count; ++c) {
            scales[c] = symmetric_scale(bits[c]);
            inverses[c] = 1.0f / scales[c];
        }
        return false;
    }
    std::memcpy(scales, bits, count * sizeof(float));
    for_each_number<Arch>(
        count, [&](std::size_t c, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const Number scale = divide_numbers(load_number<Number>(scales + c), Number(127.0f)), least(0x1p-100f);
            const Number usable = choose_number(scale > least, scale, least);
            store_number(usable, scales + c);
            store_number(Number(divide_numbers(Number(1.0f), usable)), inverses + c);
        });
    return true;
}

/// rne(x * inverse), within [-127, 127] where inverse is that of symmetric_scale() of at least |x|.
inline std::int32_t symmetric_code(float x, float inverse) noexcept {
    return static_cast<std::int32_t>(round_half_even(x * inverse));
}

/// to[i] = symmetric_code(x[i], 1 / scale) as a byte whose sign bit is flipped where `flip` is 128, which makes it 128 more;
/// `flip` where the scale is NaN.
template <class Arch>
void symmetric_codes(const float* x, std::size_t count, float scale, std::uint8_t flip, std::uint8_t* to) noexcept {
    if (!(scale > 0)) {
        std::memset(to, flip, count);
        return;
    }
    const float inverse = 1.0f / scale;
    if constexpr (has_code_vectors<Arch>) {
        using ops = operations<Arch>;
        using floats = typename ops::real;
        constexpr std::size_t size = ops::lanes;
        if (count >= 4 * size) {
            const floats factor(inverse);
            const typename ops::int16 offset(128);
            const typename ops::uint8 flips(static_cast<std::uint8_t>(flip ^ 128));
            for_each_overlapping(
                count, 4 * size, [&](std::size_t i) __attribute__((always_inline)) {
                    typename ops::int32 codes[4];
                    unroll<4>([&](auto v) __attribute__((always_inline)) {
                        codes[v] = round_to_nearest(floats(floats::load_unaligned(x + i + v * size) * factor));
                    });
                    ops::store(to + i, ops::pack(codes, offset) ^ flips);
                });
            return;
        }
    }
    for (std::size_t i = 0; i != count; ++i) to[i] = static_cast<std::uint8_t>(symmetric_code(x[i], inverse) ^ flip);
}

}  // namespace zp::inline v0::kernel
