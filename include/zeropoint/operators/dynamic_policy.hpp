// SPDX-License-Identifier: BSD-3-Clause
// How activations and weights are quantized where activations are quantized as they come.
#pragma once

#include <type_traits>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/kernel/dynamic/dynamic_quantize.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/qscheme.hpp>

namespace zp::inline v0 {

/// Activations with a scale a row, rows being their first axis: what a row becomes depends on nothing but itself.
using per_row_affine = per_channel_affine;
/// The same, symmetric about zero.
using per_row_symmetric = per_channel_symmetric;

/// What the two products of attention multiply: codes of queries, keys, probabilities and values, or floats.
enum class attention_products { int8, float32 };

/// What a dynamic layer quantizes its activations and weights to. QScheme is per_row_affine, per_row_symmetric,
/// per_tensor_affine or per_tensor_symmetric; WeightScheme per_channel_symmetric, per_tensor_symmetric or their affine
/// twins. Rule makes scale and zero point of the range of activations, WeightRule of weights. Attention is that of
/// multi_head_attention, whose products have codes of their own, whatever the types and rules here.
template <class Input = quint8, class QScheme = per_row_affine, class Weight = qint8,
          class WeightScheme = per_channel_symmetric, class Rule = pytorch_rule, class WeightRule = pytorch_rule,
          attention_products Attention = attention_products::int8>
struct dynamic_policy {
    static_assert(quantized_dtype<Input> && quantized_dtype<Weight>,
                  "dynamic_policy<Input, QScheme, Weight, WeightScheme, Rule>: Input and Weight must be quantized "
                  "dtypes such as zp::quint8 and zp::qint8");
    static_assert(sizeof(typename Input::storage) == 1 && sizeof(typename Weight::storage) == 1,
                  "dynamic_policy<Input, QScheme, Weight, WeightScheme, Rule>: Input and Weight must have 8 bits");
    static_assert(qscheme_type<QScheme> && qscheme_type<WeightScheme>,
                  "dynamic_policy<Input, QScheme, Weight, WeightScheme, Rule>: QScheme and WeightScheme must be "
                  "qschemes such as zp::per_row_affine and zp::per_channel_symmetric");
    static_assert((QScheme::is_per_tensor || QScheme::axis == 0) &&
                      (WeightScheme::is_per_tensor || WeightScheme::axis == 0),
                  "dynamic_policy<Input, QScheme, ...>: activations have a scale a row or one together, weights one an "
                  "output or one together: take per_row, per_channel<0> or per_tensor");
    static_assert(
        std::is_base_of_v<qparams_rule, Rule> && std::is_base_of_v<qparams_rule, WeightRule>,
        "dynamic_policy<..., Rule, WeightRule>: rules are zp::pytorch_rule, zp::fbgemm_rule, zp::tflite_rule, "
        "zp::onnxruntime_rule or structs derived from zp::qparams_rule");
    using input = Input;
    using input_storage = typename Input::storage;
    using weight = Weight;
    using weight_storage = typename Weight::storage;
    static constexpr bool is_per_row = !QScheme::is_per_tensor;
    static constexpr attention_products attention = Attention;
    static constexpr bool has_affine_weights = !WeightScheme::is_symmetric || !Weight::is_signed;
    static constexpr kernel::code_limits limits{Input::quant_min, Input::quant_max};

    /// A finite range that contains zero to scale and zero point.
    struct choose_range {
        constexpr qparams operator()(float low, float high) const {
            return Rule::template choose<Input, QScheme::is_symmetric>(low, high);
        }
    };
    /// The same for an image that a convolution reads: symmetric int8, whatever Input and QScheme.
    struct choose_image_range {
        constexpr qparams operator()(float low, float high) const {
            return Rule::template choose<qint8, true>(low, high);
        }
    };
    // What quantize_filters asks for.
    struct weight_quantizer {
        using dtype = Weight;
        using qscheme = WeightScheme;
        using rule = WeightRule;
        using observer_type =
            std::conditional_t<WeightScheme::is_per_tensor, min_max_observer, per_channel_min_max_observer>;
    };
};

/// Whether attention multiplies codes under a policy: floats where it says nothing.
template <class Policy>
inline constexpr bool has_int8_attention = [] {
    if constexpr (requires { Policy::attention; }) return Policy::attention == attention_products::int8;
    else return false;
}();

}  // namespace zp::inline v0
