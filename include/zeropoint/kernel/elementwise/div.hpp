// Quantized division: one IEEE division of both operands' integers, requantized once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

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
    for (const float scale : {a_scale, b_scale, y_scale})
        if (!(scale > 0 && scale < infinity))
            raise<value_error>("div: a scale must be a finite number above zero, not " + std::to_string(scale));
    const double multiplier = a_scale / (double{b_scale} * y_scale);
    if (!(multiplier <= double{std::numeric_limits<float>::max()}))
        raise<value_error>("div: a_scale / (b_scale * y_scale) is " + std::to_string(multiplier) +
                           ", and must fit a float: calibrate the output's range on its own values");
    return {static_cast<float>(multiplier), a_zero_point, b_zero_point, y_zero_point, quant_min, quant_max};
}

/// y[i] = rne(clamp((float(a[i] - a_zero_point) * multiplier) / float(b[i] - b_zero_point), quant_min - y_zero_point,
/// quant_max - y_zero_point)) + y_zero_point for `count` codes: a float product and an IEEE quotient, each rounded. Where
/// b[i] is real zero, y[i] is quant_max for a real a[i] above zero, quant_min below, and real zero, which is y_zero_point
/// within the bounds, for 0 / 0. y may be a or b.
template <class Arch, code8 A, code8 Y>
void div(const A* a, const A* b, std::size_t count, const div_parameters& p, Y* y) noexcept {
    constexpr float beyond = 1024;  // every code: what a numerator of 1 over zero gives
    const float lowest = static_cast<float>(p.quant_min - p.y_zero_point);
    const float highest = static_cast<float>(p.quant_max - p.y_zero_point);
    std::size_t i = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using ints = xsimd::batch<std::int32_t, Arch>;
        using floats = xsimd::batch<float, Arch>;
        constexpr std::size_t step = vector_size<A, Arch>;
        const ints a_zero_point(p.a_zero_point), b_zero_point(p.b_zero_point), y_zero_point(p.y_zero_point);
        const floats multiplier(p.multiplier), low(lowest), high(highest), far(beyond), zero(0.0f), one(1.0f);
        for (; i + step <= count; i += step) {
            const auto as = load_interleaved<Arch>(a + i), bs = load_interleaved<Arch>(b + i);
            batch_quad<std::int32_t, Arch> codes;
            unroll<4>([&](auto part) __attribute__((always_inline)) {
                const floats numerator = xsimd::to_float(as[part] - a_zero_point);
                const floats denominator = xsimd::to_float(bs[part] - b_zero_point);
                const auto by_zero = denominator == zero;
                const floats quotient = divide<Arch>(numerator * xsimd::select(by_zero, far, multiplier),
                                                     xsimd::select(by_zero, one, denominator));
                codes[part] = round_to_nearest(xsimd::min(xsimd::max(quotient, low), high)) + y_zero_point;
            });
            store_interleaved<Arch>(y + i, codes);
        }
    }
    for (; i != count; ++i) {
        const auto numerator = static_cast<float>(a[i] - p.a_zero_point);
        const auto denominator = static_cast<float>(b[i] - p.b_zero_point);
        const float quotient = denominator == 0 ? numerator * beyond : numerator * p.multiplier / denominator;
        y[i] = static_cast<Y>(round_half_even(std::clamp(quotient, lowest, highest)) + p.y_zero_point);
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
