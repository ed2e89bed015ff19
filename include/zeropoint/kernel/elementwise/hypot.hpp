// SPDX-License-Identifier: BSD-3-Clause
// Lengths of pairs: sqrt(a^2 + b^2) of codes of 8 and of 16 bits, whose squares are never codes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

namespace zp::inline v0::kernel {

/// What hypot() needs, Number being float for codes of 8 bits and double for those of 16: make_hypot_parameters() computes it.
template <class Number> struct hypot_parameters {
    Number a_factor = 1, b_factor = 1;  ///< the scales in units of the larger one, so that one of them is 1
    Number multiplier = 1;              ///< the larger scale / y_scale
    std::int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = 0, quant_max = 255;
    constexpr bool operator==(const hypot_parameters&) const = default;
};

/// Parameters of y = sqrt(a^2 + b^2) from the scales and zero points of all three (zero points within their ranges; of 16 bits
/// they are 0). A fused clamp only narrows [quant_min, quant_max]. Raises value_error where a scale is not a finite number above
/// zero, or the larger one is 2^21 times the output's or more.
template <class Number>
constexpr hypot_parameters<Number> make_hypot_parameters(float a_scale, std::int32_t a_zero_point, float b_scale,
                                                         std::int32_t b_zero_point, float y_scale,
                                                         std::int32_t y_zero_point, std::int32_t quant_min,
                                                         std::int32_t quant_max) {
    require_scales("hypot", {a_scale, b_scale, y_scale});
    const double larger = std::max(a_scale, b_scale);
    if (!(larger < 0x1p21 * y_scale))
        raise<value_error>("hypot: the larger scale is " + std::to_string(larger / y_scale) +
                           " times the output's: calibrate the output's range on its own values");
    return {static_cast<Number>(a_scale / larger),
            static_cast<Number>(b_scale / larger),
            static_cast<Number>(larger / y_scale),
            a_zero_point,
            b_zero_point,
            y_zero_point,
            quant_min,
            quant_max};
}

/// With p = a_factor * float(a[i] - a_zero_point) and q of b likewise: y[i] = rne(clamp(sqrt(p * p + q * q) * multiplier,
/// quant_min - y_zero_point, quant_max - y_zero_point)) + y_zero_point for `count` codes of 8 bits, each float operation
/// rounded. With equal scales the sum is an exact integer, and root and product are all that rounds before the code does. y may
/// be a or b.
template <class Arch, code8 A, code8 Y>
void hypot(const A* a, const A* b, std::size_t count, const hypot_parameters<float>& p, Y* y) noexcept {
    const auto length = [ p, range = code_range(p.quant_min, p.quant_max, p.y_zero_point) ](
        const auto& x, const auto& z) __attribute__((always_inline)) {
        const auto u = float_of(x - p.a_zero_point) * p.a_factor, v = float_of(z - p.b_zero_point) * p.b_factor;
        return range.nearest(root_of_number(rounded(u * u) + rounded(v * v)) * p.multiplier);
    };
    map_codes<Arch>(count, y, length, a, b);
}

/// The same in doubles for `count` codes of 16 bits, whose zero points are 0: the real result but for 2^-50 of it, rounded to
/// the nearest code, halves to even. y may be a or b.
template <class Arch>
void hypot(const std::int16_t* a, const std::int16_t* b, std::size_t count, const hypot_parameters<double>& p,
           std::int16_t* y) noexcept {
    const double low = p.quant_min, high = p.quant_max;
    for (std::size_t i = 0; i != count; ++i) {
        const double u = a[i] * p.a_factor, v = b[i] * p.b_factor;
        const double length = std::sqrt(rounded(u * u) + rounded(v * v)) * p.multiplier;
        y[i] = static_cast<std::int16_t>(round_half_even(std::clamp(length, low, high)));
    }
}

}  // namespace zp::inline v0::kernel
