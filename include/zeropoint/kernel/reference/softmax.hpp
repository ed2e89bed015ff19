// SPDX-License-Identifier: BSD-3-Clause
// The oracle of softmax: its definition as loops, one value at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/normalize/fixed_point_exponential.hpp>

namespace zp::inline v0::kernel::reference {

/// Sum of e(i) = fixed_point_exponential(x_scale, max(x) - x[i]) over a row.
template <class X> std::int64_t sum_exponentials(const X* x, std::size_t channels, float x_scale) {
    const std::int32_t largest = *std::max_element(x, x + channels);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i != channels; ++i) sum += fixed_point_exponential(x_scale, largest - x[i]);
    return sum;
}

/// y[i] = clamp(rne(float(e(i)) * float(1 / (sum * y_scale))) + y_zero_point, quant_min, quant_max), the sum times the
/// scale and the quotient in double.
template <class X, class Y>
void softmax(const X* x, std::size_t rows, std::size_t channels, float x_scale, float y_scale,
             std::int32_t y_zero_point, std::int32_t quant_min, std::int32_t quant_max, Y* y) {
    for (; rows != 0; --rows, x += channels, y += channels) {
        const std::int32_t largest = *std::max_element(x, x + channels);
        const double product = static_cast<double>(sum_exponentials(x, channels, x_scale)) * y_scale;
        const auto factor = static_cast<float>(1 / product);
        for (std::size_t i = 0; i != channels; ++i) {
            const float scaled = static_cast<float>(fixed_point_exponential(x_scale, largest - x[i])) * factor;
            const std::int64_t steps = round_half_even(double{std::min(scaled, 1e6f)});
            y[i] = static_cast<Y>(std::clamp<std::int64_t>(steps + y_zero_point, quant_min, quant_max));
        }
    }
}

/// With r = min(x_scale / y_scale, 1024) and the shift s = 20, or the largest one for which r * 2^s < 2^22:
///     L = rne(min((fixed_point_log2(sum) - 30 * 2^26) * (ln 2 / (y_scale * 2^26) * 2^s), 2^30))
///     y[i] = clamp(rne((rne(r * 2^s) * (x[i] - max(x)) - L) / 2^s) + y_zero_point, quant_min, quant_max)
template <class X, class Y>
void log_softmax(const X* x, std::size_t rows, std::size_t channels, float x_scale, float y_scale,
                 std::int32_t y_zero_point, std::int32_t quant_min, std::int32_t quant_max, Y* y) {
    const double ratio = std::min(double{x_scale} / y_scale, 1024.0);
    double power = 0x1p20;
    while (ratio * power >= 0x1p22) power /= 2;
    const std::int64_t multiplier = round_half_even(ratio * power);
    const double factor = 0.69314718055994530942 / (double{y_scale} * 0x1p26) * power;
    for (; rows != 0; --rows, x += channels, y += channels) {
        const std::int32_t largest = *std::max_element(x, x + channels);
        const auto sum = static_cast<std::uint64_t>(sum_exponentials(x, channels, x_scale));
        const std::int64_t units = fixed_point_log2(sum) - 30 * (std::int64_t{1} << 26);
        const std::int64_t subtrahend = round_half_even(std::min(static_cast<double>(units) * factor, 0x1p30));
        for (std::size_t i = 0; i != channels; ++i) {
            const std::int64_t steps =
                divide_half_even(multiplier * (x[i] - largest) - subtrahend, static_cast<std::int64_t>(power));
            y[i] = static_cast<Y>(std::clamp<std::int64_t>(steps + y_zero_point, quant_min, quant_max));
        }
    }
}

}  // namespace zp::inline v0::kernel::reference
