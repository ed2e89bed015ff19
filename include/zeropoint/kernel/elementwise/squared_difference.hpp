// SPDX-License-Identifier: BSD-3-Clause
// Quantized squared difference: the difference in fixed point, its square requantized once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>

namespace zp::inline v0::kernel {

/// What squared_difference() needs: make_squared_difference_parameters() computes it. Two multipliers of at most 2^22
/// times two differences of at most 255 sum to less than 2^31.
struct squared_difference_parameters {
    std::int32_t a_multiplier = 0, b_multiplier = 0;  ///< the scales in units of the larger one / 2^22
    float multiplier = 1;                             ///< of the square: (larger scale / 2^22)^2 / y_scale
    std::int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = 0, quant_max = 255;
    constexpr bool operator==(const squared_difference_parameters&) const = default;
};

/// Parameters of y = (a - b)^2 from the scales and zero points of all three (8-bit codes, zero points within their
/// ranges). A fused clamp only narrows [quant_min, quant_max]. Raises value_error where a scale is not a finite number
/// above zero, or the multiplier does not fit a float.
constexpr squared_difference_parameters make_squared_difference_parameters(float a_scale, std::int32_t a_zero_point,
                                                                           float b_scale, std::int32_t b_zero_point,
                                                                           float y_scale, std::int32_t y_zero_point,
                                                                           std::int32_t quant_min,
                                                                           std::int32_t quant_max) {
    require_scales("squared_difference", {a_scale, b_scale, y_scale});
    const double larger = std::max(a_scale, b_scale), multiplier = larger * larger / y_scale * 0x1p-44;
    if (!(multiplier <= double{std::numeric_limits<float>::max()}))
        raise<value_error>("squared_difference: the square of the larger scale is " +
                           std::to_string(larger * larger / y_scale) +
                           " times the output's: calibrate the output's range on its own values");
    return {static_cast<std::int32_t>(round_half_even(a_scale / larger * 0x1p22)),
            static_cast<std::int32_t>(round_half_even(b_scale / larger * 0x1p22)),
            static_cast<float>(multiplier),
            a_zero_point,
            b_zero_point,
            y_zero_point,
            quant_min,
            quant_max};
}

/// With d = a_multiplier * (a[i] - a_zero_point) - b_multiplier * (b[i] - b_zero_point), an exact integer:
/// y[i] = rne(clamp(float(d) * float(d) * multiplier, quant_min - y_zero_point, quant_max - y_zero_point)) +
/// y_zero_point for `count` codes, each float operation rounded. With equal scales d has 9 bits above 2^22, and only
/// the last product rounds. y may be a or b.
template <class Arch, code8 A, code8 Y>
void squared_difference(const A* a, const A* b, std::size_t count, const squared_difference_parameters& p,
                        Y* y) noexcept {
    const auto square = [ p, range = code_range(p.quant_min, p.quant_max, p.y_zero_point) ](
        const auto& x, const auto& z) __attribute__((always_inline)) {
        const auto difference = float_of((x - p.a_zero_point) * p.a_multiplier - (z - p.b_zero_point) * p.b_multiplier);
        return range.nearest(difference * difference * p.multiplier);
    };
    map_codes<Arch>(count, y, square, a, b);
}

}  // namespace zp::inline v0::kernel
