// Quantized addition: one fixed-point requantization of both operands.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// What add() needs: make_add_parameters() computes it. Two multipliers of at most 2^22 times two differences of at
/// most 255 sum to less than 2^31, so the kernel needs no more than 32 bits.
struct add_parameters {
    std::int32_t a_multiplier = 0, b_multiplier = 0;  ///< a_scale / y_scale and b_scale / y_scale, times 2^shift
    int shift = 1;                                    ///< in [1, 30]
    std::int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = 0, quant_max = 255;
    constexpr bool operator==(const add_parameters&) const = default;
};

/// Parameters of y = a + b from the scales and zero points of all three (8-bit codes, zero points within their ranges).
/// With r = double(a_scale) / y_scale and likewise for b, the shift is the one that brings the larger r * 2^shift into
/// [2^21, 2^22), at most 30, and the multipliers are rne(r * 2^shift). A fused relu or clamp only narrows [quant_min,
/// quant_max]: relu by quant_min = y_zero_point. Raises value_error where a scale is not a finite number above zero, or
/// an operand's scale is 2^21 times the output's or more.
constexpr add_parameters make_add_parameters(float a_scale, std::int32_t a_zero_point, float b_scale,
                                             std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point,
                                             std::int32_t quant_min, std::int32_t quant_max) {
    for (const float scale : {a_scale, b_scale, y_scale})
        if (!(scale > 0 && scale < infinity))
            raise<value_error>("add: a scale must be a finite number above zero, not " + std::to_string(scale));
    const double a_ratio = double{a_scale} / y_scale, b_ratio = double{b_scale} / y_scale;
    const double larger = std::max(a_ratio, b_ratio);
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(larger) >> 52) - 1023;
    if (exponent > 20)
        raise<value_error>(
            "add: an operand's scale is " + std::to_string(larger) +
            " times the output's, and must be below 2^21 times: calibrate the output's range on its own values");
    const int shift = std::min(21 - exponent, 30);
    const double power = static_cast<double>(std::int64_t{1} << shift);
    return {static_cast<std::int32_t>(round_half_even(a_ratio * power)),
            static_cast<std::int32_t>(round_half_even(b_ratio * power)),
            shift,
            a_zero_point,
            b_zero_point,
            y_zero_point,
            quant_min,
            quant_max};
}

/// y[i] = clamp(rne((a_multiplier * (a[i] - a_zero_point) + b_multiplier * (b[i] - b_zero_point)) / 2^shift) +
/// y_zero_point, quant_min, quant_max) for `count` codes, in integers, ties to even. y may be a or b.
template <class Arch, code8 A, code8 Y>
void add(const A* a, const A* b, std::size_t count, const add_parameters& p, Y* y) noexcept {
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        using ints = xsimd::batch<std::int32_t, Arch>;
        constexpr std::size_t step = vector_size<A, Arch>;
        const ints a_multiplier(p.a_multiplier), b_multiplier(p.b_multiplier), y_zero_point(p.y_zero_point);
        const ints a_zero_point(p.a_zero_point), b_zero_point(p.b_zero_point);
        const ints low(p.quant_min), high(p.quant_max), one(1);
        const ints half(std::int32_t{1} << (p.shift - 1)), fraction((std::int32_t{1} << p.shift) - 1);
        for (; i + step <= count; i += step) {
            const auto as = load_interleaved<Arch>(a + i), bs = load_interleaved<Arch>(b + i);
            batch_quad<std::int32_t, Arch> codes;
            unroll<4>([&](auto part) __attribute__((always_inline)) {
                const ints sum = (as[part] - a_zero_point) * a_multiplier + (bs[part] - b_zero_point) * b_multiplier;
                const ints whole = sum >> p.shift, rest = sum & fraction;
                // Up where rest > half, and at a tie where whole is odd.
                const ints rounded = xsimd::incr_if(whole, rest + (whole & one) > half);
                codes[part] = xsimd::min(xsimd::max(rounded + y_zero_point, low), high);
            });
            store_interleaved<Arch>(y + i, codes);
        }
    }
    for (; i != count; ++i) {
        const std::int32_t sum = p.a_multiplier * (a[i] - p.a_zero_point) + p.b_multiplier * (b[i] - p.b_zero_point);
        const auto code = static_cast<std::int32_t>(shift_half_even(sum, p.shift)) + p.y_zero_point;
        y[i] = static_cast<Y>(std::clamp(code, p.quant_min, p.quant_max));
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
