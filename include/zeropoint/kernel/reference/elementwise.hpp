// SPDX-License-Identifier: BSD-3-Clause
// The oracle of the operators on two arrays of codes and of prelu: their definitions one output at a time, sharing nothing
// with the kernels but the rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>

namespace zp::inline v0::kernel::reference {

/// Scale and zero point of one operand, and the bounds of an output's codes.
struct operand_grid {
    float scale;
    std::int32_t zero_point;
};
struct output_grid {
    float scale;
    std::int32_t zero_point, quant_min, quant_max;
};

/// The product of two floats as a float. Exact in double; beyond what a code could be, any number that is.
inline float float_product(float a, float b) {
    return static_cast<float>(std::clamp(double{a} * double{b}, -0x1p100, 0x1p100));
}
inline std::int32_t code_of(double steps, const output_grid& y) {
    const std::int64_t code = round_half_even(std::clamp(steps, -1e6, 1e6)) + y.zero_point;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, y.quant_min, y.quant_max));
}

/// One quantized sum. With r_a = double(a_scale) / y_scale, r_b likewise, and the shift s for which max(r_a, r_b) * 2^s
/// lies in [2^21, 2^22), or s = 30 where that would be more:
///     sum = rne(r_a * 2^s) * (a - a_zero_point) + rne(r_b * 2^s) * (b - b_zero_point)
///     y = clamp(rne(sum / 2^s) + y_zero_point, quant_min, quant_max)
inline std::int32_t add(std::int32_t a, float a_scale, std::int32_t a_zero_point, std::int32_t b, float b_scale,
                        std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point, std::int32_t quant_min,
                        std::int32_t quant_max) {
    const double ratio_a = double{a_scale} / y_scale, ratio_b = double{b_scale} / y_scale;
    double power = 1;
    int shift = 0;
    while (shift < 30 && std::max(ratio_a, ratio_b) * power < 0x1p21) power *= 2, ++shift;
    const std::int64_t sum = round_half_even(ratio_a * power) * (std::int64_t{a} - a_zero_point) +
                             round_half_even(ratio_b * power) * (std::int64_t{b} - b_zero_point);
    const std::int64_t code = divide_half_even(sum, std::int64_t{1} << shift) + y_zero_point;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, quant_min, quant_max));
}

/// One quantized product: y = clamp(rne(float((a - a_zero_point) * (b - b_zero_point)) * m) + y_zero_point, quant_min,
/// quant_max), where m is the float next to double(a_scale) * b_scale / y_scale. The product of a 17-bit integer and a
/// float is exact in double; becoming a float is its one rounding.
inline std::int32_t mul(std::int32_t a, float a_scale, std::int32_t a_zero_point, std::int32_t b, float b_scale,
                        std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point, std::int32_t quant_min,
                        std::int32_t quant_max) {
    const double multiplier = static_cast<float>(double{a_scale} * b_scale / y_scale);
    const auto scaled = static_cast<float>((a - a_zero_point) * (b - b_zero_point) * multiplier);
    const double code = static_cast<double>(std::clamp(scaled, -1e6f, 1e6f));
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(round_half_even(code) + y_zero_point, quant_min, quant_max));
}

/// One quantized difference. With r_a = double(a_scale) / y_scale, r_b likewise, and the shift s for which max(r_a, r_b)
/// * 2^s lies in [2^21, 2^22), or s = 30 where that would be more:
///     difference = rne(r_a * 2^s) * (a - a_zero_point) - rne(r_b * 2^s) * (b - b_zero_point)
///     y = clamp(rne(difference / 2^s) + y_zero_point, quant_min, quant_max)
inline std::int32_t sub(std::int32_t a, const operand_grid& of_a, std::int32_t b, const operand_grid& of_b,
                        const output_grid& of_y) {
    const double ratio_a = double{of_a.scale} / of_y.scale, ratio_b = double{of_b.scale} / of_y.scale;
    double power = 1;
    while (power < 0x1p30 && std::max(ratio_a, ratio_b) * power < 0x1p21) power *= 2;
    const std::int64_t difference = round_half_even(ratio_a * power) * (std::int64_t{a} - of_a.zero_point) -
                                    round_half_even(ratio_b * power) * (std::int64_t{b} - of_b.zero_point);
    return code_of(static_cast<double>(difference) / power, of_y);
}

/// One quantized quotient: y = clamp(rne((float(a - a_zero_point) * m) / float(b - b_zero_point)) + y_zero_point,
/// quant_min, quant_max), where m is the float next to a_scale / (b_scale * y_scale). A real number over real zero is
/// the bound of its sign, 0 / 0 is y_zero_point within the bounds.
inline std::int32_t div(std::int32_t a, const operand_grid& of_a, std::int32_t b, const operand_grid& of_b,
                        const output_grid& of_y) {
    const int numerator = a - of_a.zero_point, denominator = b - of_b.zero_point;
    if (denominator == 0) return code_of(numerator * 1e5, of_y);
    const auto multiplier = static_cast<float>(of_a.scale / (double{of_b.scale} * of_y.scale));
    const float scaled = float_product(static_cast<float>(numerator), multiplier);
    return code_of(static_cast<double>(scaled / static_cast<float>(denominator)), of_y);
}

/// The code of one operand on the output's grid: rne(clamp(scale * (code - zero_point) * (1 / y_scale), ...)) +
/// y_zero_point in double, an entry of make_lookup_table() for the identity.
inline std::int32_t on_grid(std::int32_t code, const operand_grid& of_x, const output_grid& of_y) {
    return code_of(double{of_x.scale} * (code - of_x.zero_point) * (1 / double{of_y.scale}), of_y);
}
inline std::int32_t maximum(std::int32_t a, const operand_grid& of_a, std::int32_t b, const operand_grid& of_b,
                            const output_grid& of_y) {
    return std::max(on_grid(a, of_a, of_y), on_grid(b, of_b, of_y));
}
inline std::int32_t minimum(std::int32_t a, const operand_grid& of_a, std::int32_t b, const operand_grid& of_b,
                            const output_grid& of_y) {
    return std::min(on_grid(a, of_a, of_y), on_grid(b, of_b, of_y));
}

/// One quantized squared difference. With s = max(a_scale, b_scale):
///     d = rne(a_scale / s * 2^22) * (a - a_zero_point) - rne(b_scale / s * 2^22) * (b - b_zero_point)
///     y = clamp(rne(float(d) * float(d) * m) + y_zero_point, quant_min, quant_max)
/// where m is the float next to s^2 / (2^44 * y_scale), and each float product rounds.
inline std::int32_t squared_difference(std::int32_t a, const operand_grid& of_a, std::int32_t b,
                                       const operand_grid& of_b, const output_grid& of_y) {
    const double larger = std::max(of_a.scale, of_b.scale);
    const std::int64_t difference =
        round_half_even(of_a.scale / larger * 0x1p22) * (std::int64_t{a} - of_a.zero_point) -
        round_half_even(of_b.scale / larger * 0x1p22) * (std::int64_t{b} - of_b.zero_point);
    const auto d = static_cast<float>(difference);
    const auto multiplier = static_cast<float>(larger * larger / of_y.scale / 0x1p44);
    return code_of(double{float_product(float_product(d, d), multiplier)}, of_y);
}

/// One quantized length. With s the larger scale, in Number, which is float for codes of 8 bits and double for those of 16:
///     u = Number(a_scale / s) * (a - a_zero_point), v of b likewise
///     y = clamp(rne(sqrt(u * u + v * v) * Number(s / y_scale)) + y_zero_point, quant_min, quant_max)
/// where each product, the sum and the root round.
template <class Number>
std::int32_t hypot(std::int32_t a, const operand_grid& of_a, std::int32_t b, const operand_grid& of_b,
                   const output_grid& of_y) {
    const double larger = std::max(of_a.scale, of_b.scale);
    // Of two floats in double all four operations round once, when they become floats. Memory keeps doubles from being contracted.
    const auto round = [](double x) {
        const volatile Number rounded = static_cast<Number>(x);
        return double{rounded};
    };
    const double u = round(round(of_a.scale / larger) * (a - of_a.zero_point)),
                 v = round(round(of_b.scale / larger) * (b - of_b.zero_point));
    const double length = round(std::sqrt(round(round(u * u) + round(v * v))));
    return code_of(round(length * round(larger / of_y.scale)), of_y);
}

/// One quantized prelu: y = clamp(rne(float(x - x_zero_point) * m) + y_zero_point, quant_min, quant_max), where m is the
/// float next to x_scale / y_scale for x above x_zero_point, next to slope * x_scale / y_scale elsewhere.
inline std::int32_t prelu(std::int32_t x, const operand_grid& of_x, float slope, const output_grid& of_y) {
    const double ratio = (x > of_x.zero_point ? 1.0 : double{slope}) * of_x.scale / of_y.scale;
    return code_of(double{float_product(static_cast<float>(x - of_x.zero_point), static_cast<float>(ratio))}, of_y);
}

}  // namespace zp::inline v0::kernel::reference
