// Quantized subtraction: addition with a negative multiplier.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/elementwise/add.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// Parameters of y = a - b: those of make_add_parameters with b's multiplier negated, so that add() computes
/// y[i] = clamp(rne((a_multiplier * (a[i] - a_zero_point) - |b_multiplier| * (b[i] - b_zero_point)) / 2^shift) +
/// y_zero_point, quant_min, quant_max). The same errors.
constexpr add_parameters make_sub_parameters(float a_scale, std::int32_t a_zero_point, float b_scale,
                                             std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point,
                                             std::int32_t quant_min, std::int32_t quant_max) {
    add_parameters parameters =
        make_add_parameters(a_scale, a_zero_point, b_scale, b_zero_point, y_scale, y_zero_point, quant_min, quant_max);
    parameters.b_multiplier = -parameters.b_multiplier;
    return parameters;
}

/// a - b for `count` codes, with what make_sub_parameters() gives. y may be a or b.
template <class Arch, code8 A, code8 Y>
void sub(const A* a, const A* b, std::size_t count, const add_parameters& p, Y* y) noexcept {
    add<Arch>(a, b, count, p, y);
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
