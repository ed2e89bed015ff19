// SPDX-License-Identifier: BSD-3-Clause
// How a model is quantized, as a type: dtype x qscheme x observer for activations and for weights, with exceptions by
// layer name and by layer type.
#pragma once

#include <tuple>
#include <type_traits>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/has_told.hpp>
#include <zeropoint/scheme/qscheme.hpp>
#include <zeropoint/workflow/qconfig_options.hpp>
#include <zeropoint/workflow/quantizer.hpp>

namespace zp::inline v0 {

namespace detail {
/// What stands for the parts of a qconfig that breaks a rule.
using quantizer_of_nothing = quantizer<quint8, per_tensor_affine, no_observer>;
using weights_of_nothing = quantizer<qint8, per_tensor_symmetric, no_observer>;
template <class... Options> inline constexpr bool one_has_told = (has_told<Options> || ...);
template <class... Options> inline constexpr bool are_options = (std::is_base_of_v<qconfig_option, Options> && ...);
template <class Activation, class Weight, class... Options> struct qconfig_rules {
    static constexpr bool has_quantizers = is_quantizer<Activation> && is_quantizer<Weight>,
                          is_told = one_has_told<Options...>, has_options = are_options<Options...>;
    static_assert(is_quantizer<Activation> && is_quantizer<Weight>,
                  "qconfig<Activation, Weight, Options...>: the first two arguments must be zp::quantizer<dtype, "
                  "qscheme, observer>, activations first, then weights; options are added to another qconfig, such as "
                  "a preset, by zp::with<zp::default_qconfig, options...>");
    static_assert(
        is_told || has_options || !has_quantizers,  // is_told first: has_told says why
        "qconfig<Activation, Weight, Options...>: each option must be keep_float<\"name\">, keep_float_type<op>, "
        "dynamic<\"name\", Policy>, dynamic_type<op, Policy>, weight_only<\"name\", Policy>, weight_only_type<op, "
        "Policy>, "
        "for_layer<\"name\", QConfig>, for_type<op, QConfig>, algorithm<policy>, requantize_with<policy>, "
        "separate_sums, correct_biases, compare_outputs<inputs>, table_bits<bits>, embedding_bits<bits>, "
        "codes_in<\"input\"> or "
        "codes_out<\"output\">");
    static_assert(!quantizes_per_channel<Activation>,
                  "qconfig<Activation, Weight, ...>: activations have one scale a tensor: take zp::per_tensor_affine "
                  "or zp::per_tensor_symmetric for the first quantizer (per_channel belongs to weights)");
    static_assert((observes_its_scheme<Activation> || quantizes_per_channel<Activation>)&&observes_its_scheme<Weight>,
                  "qconfig<Activation, Weight, ...>: a per_channel observer stands beside a per_tensor scheme: take "
                  "the observer without per_channel in its name, or a per_channel scheme");
    static_assert(quantizes_by_output<Weight>,
                  "qconfig<Activation, Weight, ...>: weights have one scale a tensor or one an output channel, which "
                  "is axis 0: take zp::per_tensor_symmetric, zp::per_channel_symmetric or an affine one of these "
                  "(per_group is for weight-only layers)");
    static_assert(quantizes_to_one_byte<Activation> || quantizes_to_int16<Activation>,
                  "qconfig<Activation, Weight, ...>: activations must have an 8-bit dtype such as zp::quint8, "
                  "zp::qint8 or a reduced range of one, or zp::qint16 with zp::per_tensor_symmetric");
    static_assert(quantizes_to_one_byte<Weight>,
                  "qconfig<Activation, Weight, ...>: weights must have a dtype of at most 8 bits such as zp::qint8, "
                  "zp::qint8_narrow or zp::qint4");
};
}  // namespace detail

/// A qconfig. Derive a struct of your own from it, so that messages and symbols carry its short name:
/// `struct my_qconfig : zp::qconfig<activations, weights, zp::keep_float<"fc">> {};`
template <class Activation, class Weight, class... Options> struct qconfig : qconfig_tag {
    static_assert(sizeof(detail::qconfig_rules<Activation, Weight, Options...>) != 0);
    /// Whether it keeps all of these rules. Of one that does not, members are stand-ins: nothing fails behind the sentence above.
    static constexpr bool is_right =
        is_right_quantizer<Activation> && is_right_quantizer<Weight> && detail::are_options<Options...> &&
        !quantizes_per_channel<Activation> && observes_its_scheme<Activation> && observes_its_scheme<Weight> &&
        quantizes_by_output<Weight> &&
        (quantizes_to_one_byte<Activation> || quantizes_to_int16<Activation>)&&quantizes_to_one_byte<Weight>;
    /// The quantizer of activations.
    using activation = std::conditional_t<is_right, Activation, detail::quantizer_of_nothing>;
    /// The quantizer of weights.
    using weight = std::conditional_t<is_right, Weight, detail::weights_of_nothing>;
    /// Those behind the two quantizers.
    using options = std::conditional_t<is_right, std::tuple<Options...>, std::tuple<>>;
};

namespace detail {
struct qconfig_of_nothing : qconfig<quantizer_of_nothing, weights_of_nothing> {};
template <class Config> inline constexpr bool is_qconfig = std::is_base_of_v<qconfig_tag, Config>;
}  // namespace detail
/// A qconfig, or what stands for it where it is none.
template <class Config>
using checked_qconfig = std::conditional_t<detail::is_qconfig<Config>, Config, detail::qconfig_of_nothing>;

}  // namespace zp::inline v0
