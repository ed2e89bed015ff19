// SPDX-License-Identifier: BSD-3-Clause
// The factor from accumulator steps to output steps, as a float and as an integer with a shift.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>

namespace zp::inline v0 {

/// x_scale * weight_scale / y_scale, in double and rounded once more to float: policy `nearest_even`.
constexpr float requantize_multiplier(float x_scale, float weight_scale, float y_scale) {
    return static_cast<float>(static_cast<double>(x_scale) * weight_scale / y_scale);
}

/// Whether a positive multiplier, made in double, is within the range of float.
constexpr bool fits_float(double multiplier) { return multiplier <= double{std::numeric_limits<float>::max()}; }

/// A positive factor as multiplier * 2^(shift - 31), with the multiplier in [2^30, 2^31): what a machine without floats
/// requantizes with. Zero is {0, 0}.
struct fixed_point_multiplier {
    std::int32_t multiplier = 0;
    int shift = 0;

    constexpr bool operator==(const fixed_point_multiplier&) const = default;
};

/// TFLite's `QuantizeMultiplier` (`kernels/internal/quantization_util.cc`): 31 bits, ties up. Factors below 2^-32
/// become zero. A value_error when the factor is negative, not finite or at least 2^31.
constexpr fixed_point_multiplier quantize_multiplier(double factor) {
    if (!(factor >= 0 && factor < 2147483648.0))
        raise<value_error>("quantize_multiplier: expected a factor in [0, 2^31), got " + number_text(factor));
    const auto bits = std::bit_cast<std::uint64_t>(factor);
    int shift = static_cast<int>(bits >> 52) - 1022;  // factor = mantissa / 2^53 * 2^shift, as frexp
    const std::uint64_t mantissa = (bits & 0xfffffffffffffull) | 1ull << 52;
    std::uint64_t multiplier = (mantissa + (1ull << 21)) >> 22;
    if (multiplier == 1ull << 31) multiplier >>= 1, ++shift;
    if (shift < -31) return {};
    return {static_cast<std::int32_t>(multiplier), shift};
}

/// TFLite's form for single rounding, whose products must stay below 2^62: the shift is at most 30.
constexpr fixed_point_multiplier quantize_multiplier_single_rounding(double factor) {
    const fixed_point_multiplier result = quantize_multiplier(factor);
    if (result.shift > 30) return {std::numeric_limits<std::int32_t>::max(), 30};
    return result;
}

}  // namespace zp::inline v0
