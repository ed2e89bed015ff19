// SPDX-License-Identifier: BSD-3-Clause
// The two 16-bit float formats of trained weights: widened to float, exactly, and floats rounded to binary16.
#pragma once

#include <bit>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>

namespace zp::inline v0 {

/// IEEE 754 binary16: 1 sign, 5 exponent and 10 mantissa bits. NaN payloads are kept.
constexpr float float_from_float16(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, mantissa = half & 0x3ffu;
    if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, a normal float
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t widened = exponent == 0x1f ? 0xffu : exponent + (127 - 15);
    return std::bit_cast<float>(sign | widened << 23 | mantissa << 13);
}

/// bfloat16: the upper half of a float.
constexpr float float_from_bfloat16(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

/// The nearest float with the 11 significant bits and the exponents of IEEE 754 binary16, ties to even; |x| < 65520.
constexpr float rounded_to_float16(float x) {
    if (x > -0x1p-14f && x < 0x1p-14f)
        return static_cast<float>(round_half_even(static_cast<double>(x) * 0x1p24)) * 0x1p-24f;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

/// The binary16 nearest to x, |x| < 65520: float_from_float16() of it is rounded_to_float16(x).
constexpr std::uint16_t float16_from_float(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(rounded_to_float16(x));
    const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x38800000u) return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u) >> 13));
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p24f));
}

}  // namespace zp::inline v0
