// The two 16-bit float formats of trained weights, widened to float. Both conversions are exact.
#pragma once

#include <bit>
#include <cstdint>

namespace zp {
inline namespace v0 {

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

}  // namespace v0
}  // namespace zp
