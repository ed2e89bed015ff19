// SPDX-License-Identifier: BSD-3-Clause
// PReLU: the identity above zero, and below it a factor for all channels or for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/elementwise/broadcast.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// What prelu() needs beside a factor for each slope: make_prelu_parameters() computes it.
struct prelu_parameters {
    float multiplier = 1;  ///< x_scale / y_scale: what takes x above zero to the output's grid
    std::int32_t x_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = 0, quant_max = 255;
    constexpr bool operator==(const prelu_parameters&) const = default;
};

/// What takes x below zero to the output's grid: slope * x_scale / y_scale, computed in double and rounded to a float.
/// A slope of 1 gives prelu_parameters::multiplier. Scales are finite and above zero; raises value_error where the slope
/// is not finite, or the factor is not.
constexpr float make_prelu_factor(float slope, float x_scale, float y_scale) {
    const double factor = double{slope} * x_scale / y_scale;
    if (!(factor >= -0x1.fffffep127 && factor <= 0x1.fffffep127))
        raise<value_error>("prelu: slope * x_scale / y_scale is " + std::to_string(factor) +
                           ", and must be a finite float: slopes must be finite, and the output's range calibrated on "
                           "its own values");
    return static_cast<float>(factor);
}

/// Parameters from the scales and zero points (8-bit codes, zero points within their ranges). A fused clamp only narrows
/// [quant_min, quant_max]. Raises value_error where a scale is not a finite number above zero.
constexpr prelu_parameters make_prelu_parameters(float x_scale, std::int32_t x_zero_point, float y_scale,
                                                 std::int32_t y_zero_point, std::int32_t quant_min,
                                                 std::int32_t quant_max) {
    require_scales("prelu", {x_scale, y_scale});
    return {make_prelu_factor(1, x_scale, y_scale), x_zero_point, y_zero_point, quant_min, quant_max};
}

/// y[i] = rne(clamp(float(x[i] - x_zero_point) * m, quant_min - y_zero_point, quant_max - y_zero_point)) + y_zero_point
/// for `count` codes, where m is the multiplier above x_zero_point and factors[i] elsewhere: one float product rounds
/// before the code does. y may be x.
template <class Arch, code8 X, code8 Y>
void prelu(const X* x, const float* factors, std::size_t count, const prelu_parameters& p, Y* y) noexcept {
    const auto scaled = [ p, factors, range = code_range(p.quant_min, p.quant_max, p.y_zero_point) ](
        const auto& code, std::size_t i) __attribute__((always_inline)) {
        const auto value = float_of(code - p.x_zero_point);
        using Number = std::remove_const_t<decltype(value)>;
        const Number factor = load_number<Number>(factors + i);
        return range.nearest(value * choose_number(value > Number(0.0f), Number(p.multiplier), factor));
    };
    map_in_order<Arch>(x, count, y, scaled);
}

/// y[i] = x[i] above zero and slopes[i] * x[i] elsewhere; a NaN stays one. y may be x.
template <class Arch> void prelu(const float* x, const float* slopes, std::size_t count, float* y) noexcept {
    const auto scaled = [](const auto& value, const auto& slope) __attribute__((always_inline)) {
        using Number = std::remove_cvref_t<decltype(value)>;
        return choose_number(value > Number(0.0f), value, Number(value * slope));
    };
    map_values<ieee_vectors<Arch>>(count, y, scaled, x, slopes);
}

/// prelu() of an NHWC image of `extents`, with one factor for all channels (`factor_count` 1) or one for each.
template <class Arch, code8 X, code8 Y>
void prelu(const X* x, const shape& extents, const float* factors, int factor_count, const prelu_parameters& p,
           Y* y) noexcept {
    for_each_broadcast<Arch>(x, extents, factors, shape{1, 1, factor_count}, extents,
                             [&](const X* from, const float* with, std::size_t count, std::size_t first) {
                                 prelu<Arch>(from, with, count, p, y + first);
                             });
}

/// The same for floats, with slopes.
template <class Arch>
void prelu(const float* x, const shape& extents, const float* slopes, int slope_count, float* y) noexcept {
    for_each_broadcast<Arch>(x, extents, slopes, shape{1, 1, slope_count}, extents,
                             [&](const float* from, const float* with, std::size_t count, std::size_t first) {
                                 prelu<Arch>(from, with, count, y + first);
                             });
}

}  // namespace zp::inline v0::kernel
