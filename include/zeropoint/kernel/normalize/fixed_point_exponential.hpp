// SPDX-License-Identifier: BSD-3-Clause
// exp and log2 in fixed point, of integers alone: the same bits on every machine, whatever its libm.
#pragma once

#include <bit>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>

namespace zp::inline v0::kernel {

/// The upper 64 bits of the product of two 64-bit numbers.
constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t mask = 0xffffffffu, a_low = a & mask, b_low = b & mask, a_high = a >> 32, b_high = b >> 32;
    const std::uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32);
    return a_high * b_high + (middle >> 32) + (((middle & mask) + a_low * b_high) >> 32);
}

/// Bits behind the point of what fixed_point_exponential() gives: 1 is 2^30.
inline constexpr int exponential_bits = 30;

/// exp(-steps * scale) * 2^30 to the nearest integer, for steps in [0, 255] and a finite scale > 0: within 0.5 + 2^-20
/// of the true value, and exactly 2^30 for 0 steps.
///
/// The argument is exact: an integer below 2^32 times the power of two of the scale. With q = floor(argument / ln 2)
/// the result is 2^-q * exp(-rest), rest in [0, ln 2), whose Taylor series has 20 terms, 62 bits behind the point. What
/// is dropped: 2^-59 of the argument, 46 * 2^-59 for the last bit of ln 2, 2^-60 for the products and 2^-75 of the
/// series.
constexpr std::int32_t fixed_point_exponential(float scale, int steps) {
    const auto bits = std::bit_cast<std::uint32_t>(scale);
    const int field = static_cast<int>(bits >> 23 & 0xff), exponent = (field == 0 ? 1 : field) - 150;
    const std::uint64_t mantissa = (bits & 0x7fffffu) | (field == 0 ? 0 : 1u << 23);
    const std::uint64_t product = mantissa * static_cast<std::uint64_t>(steps);  // the argument is product * 2^exponent
    if (product == 0) return std::int32_t{1} << exponential_bits;
    constexpr int point = 58;
    if (static_cast<int>(std::bit_width(product)) + exponent > 5) return 0;  // at least 32, far beyond 31 * ln 2
    const int shift = exponent + point;
    const std::uint64_t argument = shift >= 0 ? product << shift : shift > -64 ? product >> -shift : 0;
    constexpr std::uint64_t ln2 = 199786072581291495;  // ln 2 * 2^58
    const std::uint64_t halvings = argument / ln2, rest = argument % ln2;
    if (halvings > 30) return 0;
    constexpr std::uint64_t one = std::uint64_t{1} << 62;
    std::uint64_t power = one;
    for (std::uint64_t term = 20; term != 0; --term) power = one - multiply_high(rest << 6, power) / term;
    return static_cast<std::int32_t>(
        shift_half_even(static_cast<std::int64_t>(power), 62 - exponential_bits + static_cast<int>(halvings)));
}

/// Bits behind the point of what fixed_point_log2() gives.
inline constexpr int log2_bits = 26;

/// log2(x) * 2^26 for x > 0, at most 1.2 too low and never too high.
///
/// x = 2^whole * m with m in [1, 2), of which 31 bits behind the point are kept. Squaring m doubles its logarithm: each
/// time its integer part is the next bit. The bits that are dropped are worth 2^-31 / ln 2 before the first squaring,
/// and twice that, halved once more each time, after the following ones: less than 0.14 * 2^-26 together.
constexpr std::int64_t fixed_point_log2(std::uint64_t x) {
    const int whole = static_cast<int>(std::bit_width(x)) - 1;
    std::uint64_t mantissa = whole > 31 ? x >> (whole - 31) : x << (31 - whole);  // in [2^31, 2^32)
    std::int64_t logarithm = whole;
    for (int bit = 0; bit != log2_bits; ++bit) {
        mantissa = (mantissa * mantissa) >> 31;
        const std::uint64_t carry = mantissa >> 32;
        logarithm = 2 * logarithm + static_cast<std::int64_t>(carry);
        mantissa >>= carry;
    }
    return logarithm;
}

}  // namespace zp::inline v0::kernel
