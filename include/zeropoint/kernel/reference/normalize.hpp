// SPDX-License-Identifier: BSD-3-Clause
// The oracle of the normalizations of codes: their definition as loops, one group at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>

namespace zp::inline v0::kernel::reference {

/// a * b + c in float with a product that is rounded first: both are exact in double before that.
inline float multiply_then_add(float a, float b, float c) {
    volatile float product = a * b;
    return product + c;
}

/// y = clamp(rne(value) + zero_point, quant_min, quant_max)
inline std::int32_t code_of(float value, std::int32_t zero_point, std::int32_t quant_min, std::int32_t quant_max) {
    const std::int64_t steps = round_half_even(std::clamp(double{value}, -1e6, 1e6));
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(steps + zero_point, quant_min, quant_max));
}

/// Normalization over a group of `count` codes at x[0], x[1], ..., wherever at(i) says they lie, of weight and bias
/// channel_of(i):
///     spread = count * (sum of x^2) - (sum of x)^2, in integers
///     factor = float(1 / sqrt(spread + epsilon * (count / x_scale)^2)) in double; 0 where the spread is 0
///     gain = factor * float(weight / y_scale), offset = float(bias / y_scale)
///     y[i] = clamp(rne(float(count * x[i] - (sum of x)) * gain + offset) + y_zero_point, quant_min, quant_max),
/// each operation rounded to float. weight and bias may be null: 1 and 0.
template <class X, class Y, class At, class ChannelOf>
void normalize(const X* x, std::size_t count, At at, ChannelOf channel_of, float x_scale, float epsilon,
               const float* weight, const float* bias, float y_scale, std::int32_t y_zero_point, std::int32_t quant_min,
               std::int32_t quant_max, Y* y) {
    const auto n = static_cast<std::int64_t>(count);
    std::int64_t sum = 0, squares = 0;
    for (std::size_t i = 0; i != count; ++i) {
        const std::int64_t code = x[at(i)];
        sum += code;
        squares += code * code;
    }
    const std::int64_t spread = n * squares - sum * sum;
    const double steps = static_cast<double>(n) / x_scale;
    volatile double smallest = steps * steps * epsilon;
    const double deviation = std::sqrt(static_cast<double>(spread) + smallest);
    const float factor = spread == 0 ? 0.0f : static_cast<float>(1 / deviation);
    for (std::size_t i = 0; i != count; ++i) {
        const std::size_t c = channel_of(i);
        const auto gain = static_cast<float>((weight == nullptr ? 1.0 : double{weight[c]}) / y_scale);
        const auto offset = static_cast<float>((bias == nullptr ? 0.0 : double{bias[c]}) / y_scale);
        const auto distance = static_cast<float>(n * x[at(i)] - sum);
        const float value = multiply_then_add(distance, factor * gain, offset);
        y[at(i)] = static_cast<Y>(code_of(value, y_zero_point, quant_min, quant_max));
    }
}

/// Root mean square normalization of `count` codes: what normalize() computes, with count * x_zero_point in the sum's place and
/// the squared distances from x_zero_point in the spread's:
///     spread = count * (sum of (x - x_zero_point)^2)
///     y[i] = clamp(rne(float(count * (x[i] - x_zero_point)) * (factor * gain)) + y_zero_point, quant_min, quant_max)
template <class X, class Y>
void rms_normalize(const X* x, std::size_t count, float x_scale, std::int32_t x_zero_point, float epsilon,
                   const float* weight, float y_scale, std::int32_t y_zero_point, std::int32_t quant_min,
                   std::int32_t quant_max, Y* y) {
    const auto n = static_cast<std::int64_t>(count);
    std::int64_t spread = 0;
    for (std::size_t i = 0; i != count; ++i) {
        const std::int64_t distance = x[i] - x_zero_point;
        spread += n * distance * distance;
    }
    const double steps = static_cast<double>(n) / x_scale;
    volatile double smallest = steps * steps * epsilon;
    const double root = std::sqrt(static_cast<double>(spread) + smallest);
    const float factor = spread == 0 ? 0.0f : static_cast<float>(1 / root);
    for (std::size_t i = 0; i != count; ++i) {
        const auto gain = static_cast<float>((weight == nullptr ? 1.0 : double{weight[i]}) / y_scale);
        const auto distance = static_cast<float>(n * (x[i] - x_zero_point));
        y[i] = static_cast<Y>(
            code_of(multiply_then_add(distance, factor * gain, 0.0f), y_zero_point, quant_min, quant_max));
    }
}

/// y[pixel][c] = rne(float(x - x_zero_point) * float(f * x_scale / y_scale) + float((beta - mean * f) / y_scale)) + z,
/// clamped, with f = gamma / sqrt(variance + epsilon) in double. gamma and beta may be null: 1 and 0.
template <class X, class Y>
void batch_norm(const X* x, std::size_t pixels, std::size_t channels, float x_scale, std::int32_t x_zero_point,
                const float* gamma, const float* beta, const float* mean, const float* variance, float epsilon,
                float y_scale, std::int32_t y_zero_point, std::int32_t quant_min, std::int32_t quant_max, Y* y) {
    for (std::size_t i = 0; i != pixels * channels; ++i) {
        const std::size_t c = i % channels;
        const double f = (gamma == nullptr ? 1.0 : double{gamma[c]}) / std::sqrt(double{variance[c]} + epsilon);
        volatile double moved = mean[c] * f;
        const auto gain = static_cast<float>(f * x_scale / y_scale);
        const auto offset = static_cast<float>(((beta == nullptr ? 0.0 : double{beta[c]}) - moved) / y_scale);
        const float value = multiply_then_add(static_cast<float>(x[i] - x_zero_point), gain, offset);
        y[i] = static_cast<Y>(code_of(value, y_zero_point, quant_min, quant_max));
    }
}

}  // namespace zp::inline v0::kernel::reference
