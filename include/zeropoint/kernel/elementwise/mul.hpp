// Quantized multiplication: an exact integer product of both operands, requantized once.
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
    for (const float scale : {a_scale, b_scale, y_scale})
        if (!(scale > 0 && scale < infinity))
            raise<value_error>("mul: a scale must be a finite number above zero, not " + std::to_string(scale));
    const double multiplier = double{a_scale} * b_scale / y_scale;
    if (!(multiplier <= double{std::numeric_limits<float>::max()}))
        raise<value_error>("mul: a_scale * b_scale / y_scale is " + std::to_string(multiplier) +
                           ", and must fit a float: calibrate the output's range on its own values");
    return {static_cast<float>(multiplier), a_zero_point, b_zero_point, y_zero_point, quant_min, quant_max};
}

/// y[i] = rne(clamp(float((a[i] - a_zero_point) * (b[i] - b_zero_point)) * multiplier, quant_min - y_zero_point,
/// quant_max - y_zero_point)) + y_zero_point for `count` codes. The integer product is at most 255^2, exact in float, so
/// one product is all that rounds before the code does. y may be a or b.
template <class Arch, code8 A, code8 Y>
void mul(const A* a, const A* b, std::size_t count, const mul_parameters& p, Y* y) noexcept {
    const float lowest = static_cast<float>(p.quant_min - p.y_zero_point);
    const float highest = static_cast<float>(p.quant_max - p.y_zero_point);
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        using ints = xsimd::batch<std::int32_t, Arch>;
        using floats = xsimd::batch<float, Arch>;
        constexpr std::size_t step = vector_size<A, Arch>;
        const ints a_zero_point(p.a_zero_point), b_zero_point(p.b_zero_point), y_zero_point(p.y_zero_point);
        const floats multiplier(p.multiplier), low(lowest), high(highest);
        for (; i + step <= count; i += step) {
            const auto as = load_interleaved<Arch>(a + i), bs = load_interleaved<Arch>(b + i);
            batch_quad<std::int32_t, Arch> codes;
            unroll<4>([&](auto part) __attribute__((always_inline)) {
                // Products of two floats below 2^8 are exact, and cheaper than those of 32-bit integers.
                const floats product =
                    xsimd::to_float(as[part] - a_zero_point) * xsimd::to_float(bs[part] - b_zero_point);
                const floats scaled = xsimd::min(xsimd::max(product * multiplier, low), high);
                codes[part] = round_to_nearest(scaled) + y_zero_point;
            });
            store_interleaved<Arch>(y + i, codes);
        }
    }
    for (; i != count; ++i) {
        const auto product = static_cast<float>((a[i] - p.a_zero_point) * (b[i] - p.b_zero_point));
        const float scaled = std::clamp(product * p.multiplier, lowest, highest);
        y[i] = static_cast<Y>(round_half_even(scaled) + p.y_zero_point);
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
