// SPDX-License-Identifier: BSD-3-Clause
// Biases of quantized layers: 32-bit integers on the grid of the accumulator.
#pragma once

#include <cstdint>
#include <limits>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/uncontracted.hpp>

namespace zp::inline v0 {

/// The largest bias, in accumulator steps, that leaves the other half of int32 to the sum of products.
inline constexpr double bias_limit = static_cast<double>(std::numeric_limits<std::int32_t>::max()) / 2;
/// The same beside activations of 16 bits, whose biases are int64 and sums stay below 2^47.
inline constexpr double int64_bias_limit = 1099511627776.0;

/// What one output channel's weight scale must be for its bias to fit.
struct bias_fit {
    float weight_scale;  // the given one, or a larger one
    bool raised;         // worth a line in the conversion's report: this channel's weights get coarser
};

/// bias / (x_scale * weight_scale) must be at most `limit`, half of int32: a channel whose weights are nearly zero, but whose
/// bias is not, gets a larger weight scale (TFLite's `AdjustWeightsForBiasScale`). Scales are positive and finite.
///
/// `least_step`: what x_scale * weight_scale must be at the least, where weights may be so near to zero that it is not.
constexpr bias_fit fit_weight_scale_to_bias(float bias, float x_scale, float weight_scale, double limit = bias_limit,
                                            double least_step = 0) {
    if (!is_finite(bias))
        raise<value_error>("fit_weight_scale_to_bias: expected a finite bias, got " + number_text(bias));
    const double size = bias < 0 ? -static_cast<double>(bias) : static_cast<double>(bias);
    const double step = static_cast<double>(x_scale) * weight_scale;  // exact: two floats
    if (size / step <= limit && step >= least_step) return {weight_scale, false};
    const double needed = (size / limit > least_step ? size / limit : least_step) / x_scale;
    // One part in 2^22 more than needed, so that rounding to float cannot leave it short.
    const auto raised = static_cast<float>(needed + needed * power_of_two(-22));
    if (!is_finite(raised))
        raise<value_error>("fit_weight_scale_to_bias: the bias " + number_text(bias) +
                           " is too large for an input scale of " + number_text(x_scale));
    return {raised, true};
}

/// rne(bias / (x_scale * weight_scale)), in double; the zero point of a bias is 0. A value_error when the result is not
/// within int32: fit_weight_scale_to_bias first.
constexpr std::int32_t quantize_bias(float bias, float x_scale, float weight_scale) {
    const double steps = static_cast<double>(bias) / (static_cast<double>(x_scale) * weight_scale);
    if (!(steps >= std::numeric_limits<std::int32_t>::min() && steps <= std::numeric_limits<std::int32_t>::max()))
        raise<value_error>(
            "quantize_bias: the bias " + number_text(bias) + " is " + number_text(steps) +
            " accumulator steps, expected a 32-bit integer: raise the weight scale with fit_weight_scale_to_bias");
    return static_cast<std::int32_t>(round_half_even(steps));
}

/// The same as int64, beside activations of 16 bits. At most int64_bias_limit: fit_weight_scale_to_bias first.
constexpr std::int64_t quantize_int64_bias(float bias, float x_scale, float weight_scale) {
    const double steps = static_cast<double>(bias) / (static_cast<double>(x_scale) * weight_scale);
    if (!(steps >= -int64_bias_limit && steps <= int64_bias_limit))
        raise<value_error>("quantize_int64_bias: the bias " + number_text(bias) + " is " + number_text(steps) +
                           " accumulator steps, expected at most 2^40: raise the weight scale with "
                           "fit_weight_scale_to_bias");
    return round_half_even(steps);
}

}  // namespace zp::inline v0
