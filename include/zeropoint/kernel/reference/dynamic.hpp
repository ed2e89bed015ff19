// SPDX-License-Identifier: BSD-3-Clause
// The oracle of dynamic quantization: its definition as loops, sharing nothing with the kernels but the rule for ranges.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/core/float_values.hpp>

namespace zp::inline v0::kernel::reference {

/// low = min(0, x...), high = max(0, x...); (scale, zero_point) = choose(low, high);
///     q[i] = clamp(rne(x[i] * (1 / scale)) + zero_point, quant_min, quant_max)
/// With a value that is NaN or infinite, or an infinite scale: q[i] = 0, scale = NaN, zero_point = 0.
template <class Q, class Choose>
void dynamic_quantize(const float* x, std::size_t count, std::int32_t quant_min, std::int32_t quant_max, Choose choose,
                      float& scale, std::int32_t& zero_point, Q* q) {
    float low = 0, high = 0;
    bool is_defined = true;
    for (std::size_t i = 0; i != count; ++i) {
        is_defined = is_defined && is_finite(x[i]);
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    scale = infinity;
    if (is_defined) {
        const auto chosen = choose(low, high);
        scale = chosen.scale;
        zero_point = chosen.zero_point;
    }
    if (!is_finite(scale)) {
        scale = not_a_number;
        zero_point = 0;
        for (std::size_t i = 0; i != count; ++i) q[i] = 0;
        return;
    }
    const float inverse = 1.0f / scale;
    for (std::size_t i = 0; i != count; ++i) {
        const float steps = x[i] * inverse;
        const double code = std::nearbyint(static_cast<double>(steps)) + zero_point;
        q[i] = static_cast<Q>(code < quant_min ? quant_min : code > quant_max ? quant_max : code);
    }
}

/// One output of a linear layer whose input was quantized at run time, each operation rounded to float:
///     acc = sum (q[k] - x_zero_point) * (w[k] - w_zero_point)                exact
///     y = float(acc) * (x_scale * w_scale) + bias
template <class Q, class Weight>
float dynamic_linear(const Q* q, float x_scale, std::int32_t x_zero_point, const Weight* w, std::int32_t w_zero_point,
                     std::size_t depth, float w_scale, float bias) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k != depth; ++k)
        sum += (std::int64_t{q[k]} - x_zero_point) * (std::int64_t{w[k]} - w_zero_point);
    volatile float factor = x_scale * w_scale;
    volatile float product = static_cast<float>(sum) * factor;  // volatile: not contracted with the sum
    return product + bias;
}

}  // namespace zp::inline v0::kernel::reference
