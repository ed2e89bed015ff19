// SPDX-License-Identifier: BSD-3-Clause
// The oracle of comparisons of codes: two real numbers, compared as whole numbers.
#pragma once

#include <cmath>
#include <cstdint>

#include <zeropoint/kernel/elementwise/compare.hpp>

namespace zp::inline v0::kernel::reference {

/// The sign of a_scale * (a - a_zero_point) - b_scale * (b - b_zero_point). Scales are whole numbers below 2^24 times a
/// power of two: products of both with differences of codes below 2^9 are compared as such, the larger shifted by no more
/// than tells them apart.
inline int sign_of_difference(std::int32_t a, float a_scale, std::int32_t a_zero_point, std::int32_t b, float b_scale,
                              std::int32_t b_zero_point) {
    int a_exponent = 0, b_exponent = 0;
    std::int64_t left = static_cast<std::int64_t>(std::ldexp(double{std::frexp(a_scale, &a_exponent)}, 24));
    std::int64_t right = static_cast<std::int64_t>(std::ldexp(double{std::frexp(b_scale, &b_exponent)}, 24));
    left *= a - a_zero_point;
    right *= b - b_zero_point;
    for (; a_exponent > b_exponent && std::abs(left) < std::int64_t{1} << 40; --a_exponent) left *= 2;
    for (; b_exponent > a_exponent && std::abs(right) < std::int64_t{1} << 40; --b_exponent) right *= 2;
    // Where exponents still differ, that operand is zero or the larger by far.
    return (left > right) - (left < right);
}

/// 1 where the comparison is true of the real numbers, else 0.
inline std::int32_t compare(comparison which, std::int32_t a, float a_scale, std::int32_t a_zero_point, std::int32_t b,
                            float b_scale, std::int32_t b_zero_point) {
    const int sign = sign_of_difference(a, a_scale, a_zero_point, b, b_scale, b_zero_point);
    switch (which) {
        case comparison::equal: return sign == 0;
        case comparison::not_equal: return sign != 0;
        case comparison::less: return sign < 0;
        case comparison::less_equal: return sign <= 0;
        case comparison::greater: return sign > 0;
        default: return sign >= 0;
    }
}

}  // namespace zp::inline v0::kernel::reference
