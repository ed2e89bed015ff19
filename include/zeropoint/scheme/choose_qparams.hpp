// SPDX-License-Identifier: BSD-3-Clause
// From an observed range to scale and zero point, by the rule of the system whose numbers are wanted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/scheme/qparams.hpp>
#include <zeropoint/scheme/qscheme.hpp>
#include <zeropoint/scheme/uncontracted.hpp>

namespace zp::inline v0 {

/// The code of real zero under a symmetric scheme: 0 for signed dtypes, 128 for the full unsigned range, else the
/// middle, rounded down. (PyTorch keeps 128 for a reduced quint8, outside its own codes, and 0 for quint4; here it is
/// 63 and 7.)
template <quantized_dtype DType>
inline constexpr std::int32_t symmetric_zero_point = [] {
    if constexpr (DType::is_signed) return 0;
    const std::int64_t codes = std::int64_t{DType::quant_max} - DType::quant_min + 1;
    const bool full =
        DType::quant_max == static_cast<std::int64_t>(std::numeric_limits<typename DType::storage>::max());
    return static_cast<std::int32_t>(DType::quant_min + (codes - (full ? 0 : 1)) / 2);
}();

/// The nearest code of a dtype.
template <quantized_dtype DType> constexpr std::int32_t clamp_to_codes(std::int64_t code) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, DType::quant_min, DType::quant_max));
}

/// Base of the rules. A rule has `template <class DType, bool IsSymmetric> static constexpr qparams choose(float low,
/// float high)` and gets a finite range with low <= 0 <= high.
struct qparams_rule {};

/// PyTorch's observers (`UniformQuantizationObserverBase._calculate_qparams`), float32 throughout. No scale is smaller
/// than 2^EpsilonExponent.
template <int EpsilonExponent> struct pytorch_rule_with_epsilon : qparams_rule {
    static_assert(EpsilonExponent >= -126 && EpsilonExponent <= 0,
                  "pytorch_rule_with_epsilon<EpsilonExponent>: the smallest scale is 2^EpsilonExponent, with an "
                  "exponent from -126 to 0; PyTorch's default is -23");
    static constexpr float epsilon = static_cast<float>(power_of_two(EpsilonExponent));  // the smallest scale

    template <class DType, bool IsSymmetric> static constexpr qparams choose(float low, float high) {
        constexpr double steps = static_cast<double>(DType::quant_max) - DType::quant_min;
        if constexpr (IsSymmetric) {
            const float scale = std::max(std::max(-low, high) / static_cast<float>(steps / 2), epsilon);
            return {scale, symmetric_zero_point<DType>};
        } else {
            const float scale = std::max((high - low) / static_cast<float>(steps), epsilon);
            const std::int64_t zero_point = DType::quant_min - round_half_even(static_cast<double>(low / scale));
            return {scale, clamp_to_codes<DType>(zero_point)};
        }
    }
};
/// The default: epsilon is that of float32, 2^-23.
struct pytorch_rule : pytorch_rule_with_epsilon<-23> {};

/// FBGEMM's `ChooseQuantizationParams`: double in between, the zero point from the end of the range with the smaller
/// error, no scale below 6.1e-5. Symmetric means its preserve_sparsity: the lowest code is one step further out than
/// the highest. A symmetric range on one side of zero is centered too, where FBGEMM falls back to affine: a symmetric
/// scheme promises its zero point.
struct fbgemm_rule : qparams_rule {
    static constexpr float smallest_scale = 6.1e-5f;  // below it the scale is set to it

    template <class DType, bool IsSymmetric> static constexpr qparams choose(float low, float high) {
        constexpr std::int64_t steps = std::int64_t{DType::quant_max} - DType::quant_min;
        if constexpr (IsSymmetric) {
            constexpr auto lowest = static_cast<float>(-(steps / 2 + 1)), highest = static_cast<float>(steps / 2);
            const float step = std::max(low / lowest, high / highest);
            low = rounded_product(step, lowest);
            high = rounded_product(step, highest);
        }
        float scale = static_cast<float>((static_cast<double>(high) - low) / static_cast<double>(steps));
        if (scale == 0 || 1.0f / scale == infinity) scale = 0.1f;
        if (scale < smallest_scale) {
            const float amplifier = smallest_scale / scale;
            if (low == 0) high = rounded_product(smallest_scale, static_cast<float>(steps));
            else if (high == 0) low = rounded_product(-smallest_scale, static_cast<float>(steps));
            else low = rounded_product(low, amplifier), high = rounded_product(high, amplifier);
            scale = smallest_scale;
        }
        if constexpr (IsSymmetric) return {scale, symmetric_zero_point<DType>};
        const double steps_below = low / static_cast<double>(scale), steps_above = high / static_cast<double>(scale);
        const double error_below = magnitude(DType::quant_min) + magnitude(steps_below);
        const double error_above = magnitude(DType::quant_max) + magnitude(steps_above);
        const double zero_point =
            error_below < error_above ? DType::quant_min - steps_below : DType::quant_max - steps_above;
        return {scale, clamp_to_codes<DType>(round_half_even(zero_point))};
    }

private:
    static constexpr double magnitude(double x) { return x < 0 ? -x : x; }
};

/// TFLite's converter (`tools/optimize/quantization_utils.cc`): float32, ties away from zero. Symmetric (weights, with
/// qint8_narrow; int16 activations): max|x| / quant_max. Affine (int8 activations): (high - low) / steps. A range of
/// nothing, where TFLite writes scale 0, has scale 1.
struct tflite_rule : qparams_rule {
    template <class DType, bool IsSymmetric> static constexpr qparams choose(float low, float high) {
        constexpr auto lowest = static_cast<float>(DType::quant_min), highest = static_cast<float>(DType::quant_max);
        if constexpr (IsSymmetric) {
            static_assert(DType::is_signed,
                          "tflite_rule: TFLite has no symmetric unsigned codes: take a signed dtype such as "
                          "zp::qint8_narrow, or zp::pytorch_rule");
            const float scale = std::max(-low, high) / highest;
            return {scale > 0 ? scale : 1.0f, 0};
        } else {
            const float scale = (high - low) / (highest - lowest);
            if (!(scale > 0)) return {1.0f, DType::quant_min};
            const double zero_point = static_cast<double>(lowest - low / scale);
            const auto rounded = zero_point < 0 ? -static_cast<std::int64_t>(0.5 - zero_point)
                                                : static_cast<std::int64_t>(zero_point + 0.5);
            return {scale, clamp_to_codes<DType>(rounded)};
        }
    }
};

/// ONNX Runtime's `compute_scale_zp`: double, rounded to float at the end; a range of nothing has scale 1. Its
/// symmetric codes are [-127, 127] (qint8_narrow) and [0, 254] (custom_range<std::uint8_t, 0, 254>).
struct onnxruntime_rule : qparams_rule {
    template <class DType, bool IsSymmetric> static constexpr qparams choose(float low, float high) {
        constexpr double steps = static_cast<double>(DType::quant_max) - DType::quant_min;
        if (IsSymmetric) low = -(high = std::max(-low, high));
        const double scale = (static_cast<double>(high) - low) / steps;
        if constexpr (IsSymmetric) {
            constexpr double middle = (static_cast<double>(DType::quant_min) + DType::quant_max) / 2;
            return {scale < tiny ? 1.0f : static_cast<float>(scale), clamp_to_codes<DType>(round_half_even(middle))};
        } else {
            if (scale < tiny) return {1.0f, 0};
            const std::int64_t zero_point = round_half_even(DType::quant_min - low / scale);
            return {static_cast<float>(scale), clamp_to_codes<DType>(zero_point)};
        }
    }

private:
    static constexpr double tiny = std::numeric_limits<float>::min();
};

/// PyTorch's reduce_range: scale and zero point as if half of the codes were there, so that the values of calibration take
/// one bit less, while values beyond them may still take every code.
template <class Rule = pytorch_rule> struct reduce_range : qparams_rule {
    /// The dtype with half of the codes.
    template <class DType>
    using half_of = custom_range<typename DType::storage, DType::quant_min / 2, DType::quant_max / 2>;
    template <class DType, bool IsSymmetric> static constexpr qparams choose(float low, float high) {
        return Rule::template choose<half_of<DType>, IsSymmetric>(low, high);
    }
};

/// Scale and zero point for values in [min, max], which is widened to contain zero. min == max is legal: a constant.
/// A value_error when min or max is not finite, min > max, or the range is too wide for a finite scale; in a constant
/// expression, a compile error.
template <class DType, class QScheme, class Rule = pytorch_rule>
constexpr qparams choose_qparams(float min, float max) {
    static_assert(quantized_dtype<DType>,
                  "choose_qparams<DType, QScheme, Rule>: DType must be a quantized dtype such as zp::quint8 or "
                  "zp::qint8 (the order is dtype, qscheme, rule)");
    static_assert(!quantized_dtype<DType> || qscheme_type<QScheme>,
                  "choose_qparams<DType, QScheme, Rule>: QScheme must be a qscheme such as zp::per_tensor_affine (the "
                  "order is dtype, qscheme, rule)");
    static_assert(std::is_base_of_v<qparams_rule, Rule>,
                  "choose_qparams<DType, QScheme, Rule>: Rule must be zp::pytorch_rule, zp::fbgemm_rule, "
                  "zp::tflite_rule, zp::onnxruntime_rule or a struct derived from zp::qparams_rule");
    if (!is_finite(min) || !is_finite(max) || min > max)
        raise<value_error>("choose_qparams: expected finite min <= max, got min " + number_text(min) + ", max " +
                           number_text(max));
    qparams chosen{1.0f, 0};
    if constexpr (quantized_dtype<DType> && qscheme_type<QScheme>)  // of another order one sentence is enough
        chosen = Rule::template choose<DType, QScheme::is_symmetric>(std::min(min, 0.0f), std::max(max, 0.0f));
    if (!is_finite(chosen.scale))
        raise<value_error>("choose_qparams: the range from " + number_text(min) + " to " + number_text(max) +
                           " is too wide for a finite float scale");
    return chosen;
}

}  // namespace zp::inline v0
