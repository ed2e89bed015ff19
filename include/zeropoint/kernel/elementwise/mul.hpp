// SPDX-License-Identifier: BSD-3-Clause
// Quantized multiplication: an exact integer product of both operands, requantized once.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>

namespace zp::inline v0::kernel {

/// What mul() needs: make_mul_parameters() computes it.
struct mul_parameters {
    float multiplier = 1;  ///< a_scale * b_scale / y_scale
    std::int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = 0, quant_max = 255;
    constexpr bool operator==(const mul_parameters&) const = default;
};

/// Parameters of y = a * b from the scales and zero points of all three (8-bit codes, zero points within their ranges).
/// The multiplier is computed in double and rounded once. A fused relu or clamp only narrows [quant_min, quant_max].
/// Raises value_error where a scale is not a finite number above zero, or the multiplier does not fit a float.
constexpr mul_parameters make_mul_parameters(float a_scale, std::int32_t a_zero_point, float b_scale,
                                             std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point,
                                             std::int32_t quant_min, std::int32_t quant_max) {
    require_scales("mul", {a_scale, b_scale, y_scale});
    const float multiplier = require_float("mul", "a_scale * b_scale / y_scale", double{a_scale} * b_scale / y_scale);
    return {multiplier, a_zero_point, b_zero_point, y_zero_point, quant_min, quant_max};
}

/// y[i] = rne(clamp(float((a[i] - a_zero_point) * (b[i] - b_zero_point)) * multiplier, quant_min - y_zero_point,
/// quant_max - y_zero_point)) + y_zero_point for `count` codes. The integer product is at most 255^2, exact in float, so
/// one product is all that rounds before the code does. y may be a or b.
template <class Arch, code8 A, code8 Y>
void mul(const A* a, const A* b, std::size_t count, const mul_parameters& p, Y* y) noexcept {
    const auto product = [ p, range = code_range(p.quant_min, p.quant_max, p.y_zero_point) ](
        const auto& x, const auto& z) __attribute__((always_inline)) {
        // Products of two floats below 2^8 are exact, and cheaper than those of 32-bit integers.
        return range.nearest(float_of(x - p.a_zero_point) * float_of(z - p.b_zero_point) * p.multiplier);
    };
    map_codes<Arch>(count, y, product, a, b);
}

/// What mul_fixed_point() needs: the factor multiplier * 2^(shift - 31) is a_scale * b_scale / y_scale.
struct fixed_point_mul_parameters {
    std::int32_t multiplier = 0;
    int shift = 0;
    std::int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = 0, quant_max = 255;
    constexpr bool operator==(const fixed_point_mul_parameters&) const = default;
};

/// y[i] = fixed_point_double_rounding of (a[i] - a_zero_point) * (b[i] - b_zero_point): LiteRT's. y may be a or b.
template <code8 A, code8 Y>
void mul_fixed_point(const A* a, const A* b, std::size_t count, const fixed_point_mul_parameters& p, Y* y) noexcept {
    const fixed_point_double_rounding round{&p.multiplier, &p.shift, {p.y_zero_point, p.quant_min, p.quant_max}};
    for (std::size_t i = 0; i != count; ++i)
        y[i] = static_cast<Y>(round((a[i] - p.a_zero_point) * (b[i] - p.b_zero_point), 0));
}

}  // namespace zp::inline v0::kernel
