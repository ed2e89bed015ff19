// SPDX-License-Identifier: BSD-3-Clause
// Rounding as the numerics contract defines it: exact, constexpr, independent of the rounding mode and of contraction.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace zp::inline v0 {

/// Nearest integer, ties to even, of a finite double with |x| < 2^62. Works on the bits, so that neither a contracted
/// multiply-add in front of it nor the caller's rounding mode can change the result.
constexpr std::int64_t round_half_even(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1075;  // x = mantissa * 2^exponent
    const std::uint64_t mantissa = (bits & 0xfffffffffffffull) | 1ull << 52;
    std::uint64_t whole = 0;
    if (exponent >= 0) whole = mantissa << (exponent < 11 ? exponent : 10);
    else if (exponent >= -54) {
        const int shift = -exponent;
        const std::uint64_t half = 1ull << (shift - 1), rest = mantissa & ((half << 1) - 1);
        whole = mantissa >> shift;
        whole += rest > half || (rest == half && (whole & 1) != 0);
    }
    return bits >> 63 != 0 ? -static_cast<std::int64_t>(whole) : static_cast<std::int64_t>(whole);
}

/// The same for a float with |x| < 2^31.
constexpr std::int32_t round_half_even(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const int exponent = static_cast<int>(bits >> 23 & 0xff) - 150;
    const std::uint32_t mantissa = (bits & 0x7fffffu) | 1u << 23;
    std::uint32_t whole = 0;
    if (exponent >= 0) whole = mantissa << (exponent < 8 ? exponent : 7);
    else if (exponent >= -25) {
        const int shift = -exponent;
        const std::uint32_t half = 1u << (shift - 1), rest = mantissa & ((half << 1) - 1);
        whole = mantissa >> shift;
        whole += rest > half || (rest == half && (whole & 1) != 0);
    }
    return bits >> 31 != 0 ? -static_cast<std::int32_t>(whole) : static_cast<std::int32_t>(whole);
}

/// value / 2^shift to the nearest integer, ties to even; shift in [0, 62].
constexpr std::int64_t shift_half_even(std::int64_t value, int shift) {
    if (shift == 0) return value;
    const std::int64_t whole = value >> shift, rest = value - (whole << shift), half = std::int64_t{1} << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1) != 0));
}

/// numerator / denominator to the nearest integer, ties to even; denominator > 0.
constexpr std::int64_t divide_half_even(std::int64_t numerator, std::int64_t denominator) {
    std::int64_t whole = numerator / denominator, rest = numerator % denominator;
    if (rest < 0) rest += denominator, --whole;
    return whole + (2 * rest > denominator || (2 * rest == denominator && (whole & 1) != 0));
}

/// The same of 32 bits, without a division of 64, which is a function of hundreds of instructions on 32-bit machines.
template <std::signed_integral T>
    requires(sizeof(T) == 4)
constexpr T divide_half_even(T numerator, T denominator) {
    T whole = numerator / denominator, rest = numerator % denominator;
    if (rest < 0) rest += denominator, --whole;
    const T above = denominator - rest;
    return whole + (rest > above || (rest == above && (whole & 1) != 0));
}

/// numerator / denominator to the nearest integer, ties away from zero; denominator > 0.
constexpr std::int64_t divide_half_away(std::int64_t numerator, std::int64_t denominator) {
    return (numerator < 0 ? numerator - denominator / 2 : numerator + denominator / 2) / denominator;
}

}  // namespace zp::inline v0
