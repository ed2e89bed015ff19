// Quantized squared difference: the difference in fixed point, its square requantized once.
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
    for (const float scale : {a_scale, b_scale, y_scale})
        if (!(scale > 0 && scale < infinity))
            raise<value_error>("squared_difference: a scale must be a finite number above zero, not " +
                               std::to_string(scale));
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
    const float lowest = static_cast<float>(p.quant_min - p.y_zero_point);
    const float highest = static_cast<float>(p.quant_max - p.y_zero_point);
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        using ints = xsimd::batch<std::int32_t, Arch>;
        using floats = xsimd::batch<float, Arch>;
        constexpr std::size_t step = vector_size<A, Arch>;
        const ints a_multiplier(p.a_multiplier), b_multiplier(p.b_multiplier), y_zero_point(p.y_zero_point);
        const ints a_zero_point(p.a_zero_point), b_zero_point(p.b_zero_point);
        const floats multiplier(p.multiplier), low(lowest), high(highest);
        for (; i + step <= count; i += step) {
            const auto as = load_interleaved<Arch>(a + i), bs = load_interleaved<Arch>(b + i);
            batch_quad<std::int32_t, Arch> codes;
            unroll<4>([&](auto part) __attribute__((always_inline)) {
                const floats difference = xsimd::to_float((as[part] - a_zero_point) * a_multiplier -
                                                          (bs[part] - b_zero_point) * b_multiplier);
                const floats scaled = difference * difference * multiplier;
                codes[part] = round_to_nearest(xsimd::min(xsimd::max(scaled, low), high)) + y_zero_point;
            });
            store_interleaved<Arch>(y + i, codes);
        }
    }
    for (; i != count; ++i) {
        const auto difference =
            static_cast<float>(p.a_multiplier * (a[i] - p.a_zero_point) - p.b_multiplier * (b[i] - p.b_zero_point));
        const float scaled = std::clamp(difference * difference * p.multiplier, lowest, highest);
        y[i] = static_cast<Y>(round_half_even(scaled) + p.y_zero_point);
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
