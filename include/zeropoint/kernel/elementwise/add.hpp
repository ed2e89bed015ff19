// SPDX-License-Identifier: BSD-3-Clause
// Quantized addition and subtraction: one fixed-point requantization of both operands.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>

namespace zp::inline v0::kernel {

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
/// Multipliers and shift are those of align_scales() with bits 21 and a shift of at most 30, and so are the errors. A fused
/// relu or clamp only narrows [quant_min, quant_max]: relu by quant_min = y_zero_point.
constexpr add_parameters make_add_parameters(float a_scale, std::int32_t a_zero_point, float b_scale,
                                             std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point,
                                             std::int32_t quant_min, std::int32_t quant_max) {
    const auto [a_multiplier, b_multiplier, shift] = align_scales(a_scale, b_scale, y_scale, 21, 30);
    return {a_multiplier, b_multiplier, shift, a_zero_point, b_zero_point, y_zero_point, quant_min, quant_max};
}

/// Parameters of y = a - b: those of make_add_parameters with b's multiplier negated, for add() itself. The same errors.
constexpr add_parameters make_sub_parameters(float a_scale, std::int32_t a_zero_point, float b_scale,
                                             std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point,
                                             std::int32_t quant_min, std::int32_t quant_max) {
    add_parameters parameters =
        make_add_parameters(a_scale, a_zero_point, b_scale, b_zero_point, y_scale, y_zero_point, quant_min, quant_max);
    parameters.b_multiplier = -parameters.b_multiplier;
    return parameters;
}

/// y[i] = clamp(rne((a_multiplier * (a[i] - a_zero_point) + b_multiplier * (b[i] - b_zero_point)) / 2^shift) +
/// y_zero_point, quant_min, quant_max) for `count` codes, in integers, ties to even. y may be a or b.
template <class Arch, code8 A, code8 Y>
void add(const A* a, const A* b, std::size_t count, const add_parameters& p, Y* y) noexcept {
    const auto sum = [p](const auto& x, const auto& z) __attribute__((always_inline)) {
        const auto steps = (x - p.a_zero_point) * p.a_multiplier + (z - p.b_zero_point) * p.b_multiplier;
        return clamp_number(shift_number(steps, p.shift) + p.y_zero_point, p.quant_min, p.quant_max);
    };
    map_codes<Arch>(count, y, sum, a, b);
}

/// a - b for `count` codes, with what make_sub_parameters() gives. y may be a or b.
template <class Arch, code8 A, code8 Y>
void sub(const A* a, const A* b, std::size_t count, const add_parameters& p, Y* y) noexcept {
    add<Arch>(a, b, count, p, y);
}

}  // namespace zp::inline v0::kernel
