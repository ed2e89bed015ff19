// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <doctest/doctest.h>

#include <zeropoint/core/half_float.hpp>

namespace {

/// The value of a float format with `Exponent` and `Mantissa` bits, from its definition.
template <int Exponent, int Mantissa> double value_of(std::uint16_t bits) {
    constexpr int bias = (1 << (Exponent - 1)) - 1;
    const int exponent = bits >> Mantissa & ((1 << Exponent) - 1), mantissa = bits & ((1 << Mantissa) - 1);
    double value;
    if (exponent == (1 << Exponent) - 1) value = mantissa == 0 ? HUGE_VAL : std::nan("");
    else if (exponent == 0) value = std::ldexp(mantissa, 1 - bias - Mantissa);
    else value = std::ldexp((1 << Mantissa) + mantissa, exponent - bias - Mantissa);
    return std::copysign(value, bits >> 15 != 0 ? -1.0 : 1.0);
}

bool same(float converted, double right) {
    if (std::isnan(right)) return std::isnan(converted) && std::signbit(converted) == std::signbit(right);
    return double{converted} == right && std::signbit(converted) == std::signbit(right);
}

}  // namespace

TEST_CASE("half floats: all 65536 of each format") {
    std::size_t wrong_float16 = 0, wrong_bfloat16 = 0;
    for (std::uint32_t bits = 0; bits != 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        wrong_float16 += !same(zp::float_from_float16(half), value_of<5, 10>(half));
        wrong_bfloat16 += !same(zp::float_from_bfloat16(half), value_of<8, 7>(half));
    }
    CHECK(wrong_float16 == 0);
    CHECK(wrong_bfloat16 == 0);
}

TEST_CASE("half floats: a float becomes the float16 nearest to it") {
    std::size_t wrong = 0;
    for (std::uint32_t bits = 0; bits != 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        if ((half & 0x7c00u) == 0x7c00u || half == 0x8000u) continue;  // what is not finite, and -0, which becomes 0
        wrong += zp::float16_from_float(zp::float_from_float16(half)) != half;
    }
    CHECK(wrong == 0);
    static_assert(zp::float16_from_float(1 + 0x1p-11f) == 0x3c00 && zp::float16_from_float(-1 - 0x3p-11f) == 0xbc02);
    static_assert(zp::float16_from_float(65519) == 0x7bff && zp::float16_from_float(0x1.ffep-15f) == 0x0400);
}
