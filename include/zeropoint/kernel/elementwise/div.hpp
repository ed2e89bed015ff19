// SPDX-License-Identifier: BSD-3-Clause
// Quantized division: one IEEE division of both operands' integers, requantized once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// What div() needs: make_div_parameters() computes it.
struct div_parameters {
    float multiplier = 1;  ///< a_scale / (b_scale * y_scale)
    std::int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = 0, quant_max = 255;
    constexpr bool operator==(const div_parameters&) const = default;
};

/// Parameters of y = a / b from the scales and zero points of all three (8-bit codes, zero points within their ranges).
/// The multiplier is computed in double, where the product of two floats is exact, and rounded to a float. A fused relu
/// or clamp only narrows [quant_min, quant_max]. Raises value_error where a scale is not a finite number above zero, or
/// the multiplier does not fit a float.
constexpr div_parameters make_div_parameters(float a_scale, std::int32_t a_zero_point, float b_scale,
                                             std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point,
                                             std::int32_t quant_min, std::int32_t quant_max) {
    require_scales("div", {a_scale, b_scale, y_scale});
    const float multiplier =
        require_float("div", "a_scale / (b_scale * y_scale)", a_scale / (double{b_scale} * y_scale));
    return {multiplier, a_zero_point, b_zero_point, y_zero_point, quant_min, quant_max};
}

/// y[i] = rne(clamp((float(a[i] - a_zero_point) * multiplier) / float(b[i] - b_zero_point), quant_min - y_zero_point,
/// quant_max - y_zero_point)) + y_zero_point for `count` codes: a float product and an IEEE quotient, each rounded. Where
/// b[i] is real zero, y[i] is quant_max for a real a[i] above zero, quant_min below, and real zero, which is y_zero_point
/// within the bounds, for 0 / 0. y may be a or b.
template <class Arch, code8 A, code8 Y>
void div(const A* a, const A* b, std::size_t count, const div_parameters& p, Y* y) noexcept {
    const auto quotient = [ p, range = code_range(p.quant_min, p.quant_max, p.y_zero_point) ](
        const auto& x, const auto& z) __attribute__((always_inline)) {
        constexpr float beyond = 1024;  // every code: what a numerator of 1 over zero gives
        const auto numerator = float_of(x - p.a_zero_point), denominator = float_of(z - p.b_zero_point);
        using Number = std::remove_const_t<decltype(numerator)>;
        const auto by_zero = denominator == Number(0.0f);
        const Number scaled = numerator * choose_number(by_zero, Number(beyond), Number(p.multiplier));
        return range.nearest(divide_numbers(scaled, choose_number(by_zero, Number(1.0f), denominator)));
    };
    map_codes<ieee_vectors<Arch>>(count, y, quotient, a, b);
}

}  // namespace zp::inline v0::kernel
