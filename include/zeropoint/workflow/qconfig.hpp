// SPDX-License-Identifier: BSD-3-Clause
// How a model is quantized, as a type: dtype x qscheme x observer for activations and for weights, with exceptions by
// layer name and by layer type.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/graph/row_name.hpp>
#include <zeropoint/operators/dynamic_policy.hpp>
#include <zeropoint/operators/integer_weights.hpp>
#include <zeropoint/operators/weight_only_policy.hpp>
#include <zeropoint/operators/requantization.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/observe/per_channel_observer.hpp>
#include <zeropoint/scheme/qscheme.hpp>

namespace zp {
inline namespace v0 {

namespace detail {
/// What stands for an observer that is none: what is wrong has been said.
struct no_observer : observation_count {
    static constexpr merge_order order = merge_order::exact_any_order;
    void observe(const observation&) {}
    void merge(const no_observer&) {}
    observed_range range() const { return {}; }
    template <class, class, class> std::vector<qparams> calculate_qparams(std::string_view) const { return {}; }
};
/// The observer for a scheme; where a rule is broken, what nothing else is said of.
template <bool IsRight, class Observer, class QScheme> struct observer_under { using type = no_observer; };
template <class Observer, class QScheme> struct observer_under<true, Observer, QScheme> {
    using type = observer_for<Observer, QScheme>;
};
// Rules stand in classes of their own: clang takes a class with a failed static_assert for no class, and all that derives from it.
template <class DType, class QScheme, class Observer> struct quantizer_rules {
    static_assert(quantized_dtype<DType>,
                  "quantizer<DType, QScheme, Observer>: the first argument must be a quantized dtype such as "
                  "zp::quint8 or zp::qint8 (the order is dtype, qscheme, observer)");
    static_assert(qscheme_type<QScheme> || !quantized_dtype<DType>,
                  "quantizer<DType, QScheme, Observer>: the second argument must be a qscheme such as "
                  "zp::per_tensor_affine or zp::per_channel_symmetric (the order is dtype, qscheme, observer)");
    static_assert(
        observer<Observer> || !quantized_dtype<DType> || !qscheme_type<QScheme>,
        "quantizer<DType, QScheme, Observer>: the third argument must be an observer such as zp::min_max_observer (the "
        "order is dtype, qscheme, observer); what an observer of your own needs stands in observe/observer.hpp");
};
}  // namespace detail

/// What turns floats into codes: `quantizer<quint8, per_tensor_affine, min_max_observer>`. Rule says how a range becomes a
/// scale and a zero point; PyTorch's is the default.
template <class DType, class QScheme, class Observer, class Rule = pytorch_rule> struct quantizer {
    static_assert(sizeof(detail::quantizer_rules<DType, QScheme, Observer>) != 0);
    /// Whether these are what they must be. Of others members are stand-ins, so that nothing fails behind the sentence above.
    static constexpr bool is_right = quantized_dtype<DType> && qscheme_type<QScheme> && observer<Observer>;
    /// Of codes.
    using dtype = std::conditional_t<is_right, DType, quint8>;
    /// Granularity and symmetry.
    using qscheme = std::conditional_t<is_right, QScheme, per_tensor_affine>;
    using observer_type =
        typename detail::observer_under<is_right, Observer,
                                        QScheme>::type;  // its per-channel form where the scheme is per channel
    /// How a range becomes a scale and a zero point.
    using rule = std::conditional_t<is_right, Rule, pytorch_rule>;
};
template <class Q> inline constexpr bool is_quantizer = false;
template <class D, class S, class O, class R> inline constexpr bool is_quantizer<quantizer<D, S, O, R>> = true;
/// Whether it is one whose arguments are right.
template <class Q> inline constexpr bool is_right_quantizer = false;
template <class D, class S, class O, class R>
inline constexpr bool is_right_quantizer<quantizer<D, S, O, R>> = quantizer<D, S, O, R>::is_right;
/// Of what is no such quantizer these are what qconfig allows: what is wrong has been said.
template <class Q> inline constexpr bool quantizes_per_channel = false;
template <class Q>
    requires is_right_quantizer<Q>
inline constexpr bool quantizes_per_channel<Q> = !Q::qscheme::is_per_tensor;
template <class Q> inline constexpr bool observes_its_scheme = true;
template <class D, qscheme_type S, observer O, class R>
inline constexpr bool observes_its_scheme<quantizer<D, S, O, R>> = observer_serves<O, S>;
template <class Q> inline constexpr bool quantizes_by_output = true;
template <class Q>
    requires is_right_quantizer<Q>
inline constexpr bool quantizes_by_output<Q> = [] {
    if constexpr (Q::qscheme::is_per_tensor) return true;
    else return Q::qscheme::axis == 0;
}();
template <class Q> inline constexpr bool quantizes_to_one_byte = true;
template <class Q>
    requires is_right_quantizer<Q>
inline constexpr bool quantizes_to_one_byte<Q> = sizeof(typename Q::dtype::storage) == 1;
/// 16 bits, of which a qconfig takes symmetric ones alone.
template <class Q> inline constexpr bool quantizes_to_int16 = false;
template <class Q>
    requires is_right_quantizer<Q>
inline constexpr bool quantizes_to_int16<Q> =
    std::is_same_v<typename Q::dtype::storage, std::int16_t> && Q::qscheme::is_symmetric;

constexpr bool same_text(const char* a, const char* b) {
    while (*a != 0 && *a == *b) ++a, ++b;
    return *a == *b;
}

/// Base of everything that may follow the two quantizers of a qconfig.
struct qconfig_option {
    static constexpr bool floats = false;      // what it selects stays in float32
    static constexpr bool quantizes = true;    // says how what it selects is quantized
    static constexpr bool is_default = false;  // says something about every layer
    static constexpr algorithm_policy policy{};
    using integer_weights = void;  // the policy by which what stays in float32 gets integer weights
    static constexpr bool selects_type(const operator_kind&) { return false; }
    static constexpr bool takes(const node&) { return true; }  // of the type that it selects
    static constexpr const char* name = "";                    // the layer that it selects, which must exist
};
struct qconfig_tag {};

/// How finely the sums of a convolution or linear layer are rounded in front of an activation that is fused behind it and is
/// no clamp (hardswish, sigmoid, ...): to 2^Bits codes, each with an entry of one byte in the layer's table, which gives the
/// 8-bit code. 10, the default, makes that first rounding a quarter as coarse as the second; 8 rounds to 8 bits twice, which
/// is what systems give that run the activation by itself, in tables of 256 bytes. For the whole model. In the inner qconfig
/// of a for_layer or for_type it says nothing: an activation that is quantized in another way than the layer in front of it
/// is not fused.
template <int Bits> struct table_bits : qconfig_option {
    static_assert(Bits >= 8 && Bits <= 12,
                  "table_bits<Bits>: Bits must be from 8 to 12: a fused activation has a table of 2^Bits bytes");
    static constexpr int bits = Bits;
};
inline constexpr int default_table_bits = 10;

/// How many bits a value of an embedding's table has: 8 or 4. In an int8 model 8 is the default, and with 4 each row has a
/// scale and an offset, and gives floats. In a dynamically quantized one tables stay float32 without it, and rows have a scale
/// and an offset with both. For the whole model.
template <int Bits> struct embedding_bits : qconfig_option {
    static_assert(Bits == 8 || Bits == 4, "embedding_bits<Bits>: Bits must be 8 or 4");
};
template <class Option> inline constexpr int embedding_bits_in = 0;
template <int Bits> inline constexpr int embedding_bits_in<embedding_bits<Bits>> = Bits;
template <class Options> inline constexpr int last_embedding_bits = 8;
template <class... Options>
inline constexpr int last_embedding_bits<std::tuple<Options...>> = [] {
    int bits = 8;
    ((bits = embedding_bits_in<Options> != 0 ? embedding_bits_in<Options> : bits), ...);
    return bits;
}();
/// Whether an option says so at all.
template <class Options> inline constexpr bool codes_embeddings = false;
template <class... Options>
inline constexpr bool codes_embeddings<std::tuple<Options...>> = ((embedding_bits_in<Options> != 0) || ...);
template <class Config> inline constexpr int embedding_bits_of = last_embedding_bits<typename Config::options>;

/// Whether an inner qconfig may have an option.
template <class Option> inline constexpr bool is_own_option = false;
template <int Bits> inline constexpr bool is_own_option<table_bits<Bits>> = true;
template <class Option> inline constexpr int table_bits_in = 0;
template <int Bits> inline constexpr int table_bits_in<table_bits<Bits>> = Bits;
template <class Options> inline constexpr bool are_own_options = true;
template <class... Options>
inline constexpr bool are_own_options<std::tuple<Options...>> = (is_own_option<Options> && ...);
template <class Options> inline constexpr int last_table_bits = default_table_bits;
template <class... Options>
inline constexpr int last_table_bits<std::tuple<Options...>> = [] {
    int bits = default_table_bits;
    ((bits = table_bits_in<Options> != 0 ? table_bits_in<Options> : bits), ...);
    return bits;
}();
/// How many bits choose an entry of a fused table under a qconfig.
template <class Config> inline constexpr int table_bits_of = last_table_bits<typename Config::options>;

template <class C> inline constexpr bool has_no_options = true;
template <class C>
    requires requires { typename C::options; }
inline constexpr bool has_no_options<C> = are_own_options<typename C::options>;

/// This layer stays in float32; quantize and dequantize are placed around it.
template <fixed_string Name> struct keep_float : qconfig_option {
    static constexpr bool floats = true;
    static constexpr const char* name = Name.text;
};
/// All layers of this type stay in float32.
template <const operator_kind& Kind> struct keep_float_type : qconfig_option {
    static constexpr bool floats = true;
    static constexpr bool selects_type(const operator_kind& kind) { return &kind == &Kind; }
};
/// This layer gets and gives floats, as under keep_float, and has int8 weights: it quantizes its inputs in each call. Policy is a
/// zp::dynamic_policy<...>, the same for all dynamic layers of a model: a linear or recurrent layer, or a convolution.
template <fixed_string Name, class Policy = dynamic_policy<>> struct dynamic : keep_float<Name> {
    static_assert(quantizes_inputs<Policy>,
                  "dynamic<\"name\", Policy>: the second argument must be a zp::dynamic_policy<...>");
    using integer_weights = Policy;
};
/// All layers of this type that have such a form; others are quantized as the qconfig says.
template <const operator_kind& Kind, class Policy = dynamic_policy<>> struct dynamic_type : keep_float_type<Kind> {
    static_assert(quantizes_inputs<Policy>,
                  "dynamic_type<op, Policy>: the second argument must be a zp::dynamic_policy<...>");
    using integer_weights = Policy;
    static constexpr bool takes(const node& n) { return operators::why_no_integer_weights<Policy>(n) == nullptr; }
};
/// This layer gets and gives floats, and its weights alone are integers: they are multiplied as floats. Policy is a
/// zp::weight_only_policy<...>, the same for all such layers of a model: a linear or recurrent layer.
template <fixed_string Name, class Policy = weight_only_policy<>> struct weight_only : keep_float<Name> {
    static_assert(weights_alone<Policy>,
                  "weight_only<\"name\", Policy>: the second argument must be a zp::weight_only_policy<...>");
    using integer_weights = Policy;
};
/// All layers of this type that have such a form; others are quantized as the qconfig says.
template <const operator_kind& Kind, class Policy = weight_only_policy<>>
struct weight_only_type : keep_float_type<Kind> {
    static_assert(weights_alone<Policy>,
                  "weight_only_type<op, Policy>: the second argument must be a zp::weight_only_policy<...>");
    using integer_weights = Policy;
    static constexpr bool takes(const node& n) { return operators::why_no_integer_weights<Policy>(n) == nullptr; }
};
/// How the algorithm of convolutions and linear layers is chosen: zp::balanced, zp::fastest, zp::smallest, or one by name,
/// such as zp::algorithm<zp::conv2d_algorithm::implicit_gemm>. On its own for the whole model, inside of for_layer or
/// for_type for some. Changes time and memory, never a result or a file.
template <algorithm_policy Policy> struct algorithm : qconfig_option {
    static constexpr bool quantizes = false, is_default = true;
    static constexpr algorithm_policy policy = Policy;
};
template <class Option> inline constexpr bool is_algorithm = false;
template <algorithm_policy Policy> inline constexpr bool is_algorithm<algorithm<Policy>> = true;
template <class Option> inline constexpr algorithm_policy policy_in{};
template <algorithm_policy Policy> inline constexpr algorithm_policy policy_in<algorithm<Policy>> = Policy;

/// This layer is quantized in another way, or computed by another algorithm.
template <fixed_string Name, class QConfig> struct for_layer : qconfig_option {
    static_assert(std::is_base_of_v<qconfig_tag, QConfig> || is_algorithm<QConfig>,
                  "for_layer<Name, QConfig>: the second argument must be a zp::qconfig<activation quantizer, weight "
                  "quantizer>, or a zp::algorithm<policy>");
    static_assert(has_no_options<QConfig>,
                  "for_layer<Name, QConfig>: the inner qconfig must have no options of its own but table_bits: names, "
                  "types and requantize_with belong to the outer qconfig, which holds for the whole model");
    using qconfig = QConfig;
    static constexpr bool quantizes = !is_algorithm<QConfig>;
    static constexpr algorithm_policy policy = policy_in<QConfig>;
    static constexpr const char* name = Name.text;
};
/// All layers of this type are quantized in another way; a name goes before a type.
template <const operator_kind& Kind, class QConfig> struct for_type : qconfig_option {
    static_assert(std::is_base_of_v<qconfig_tag, QConfig> || is_algorithm<QConfig>,
                  "for_type<Kind, QConfig>: the second argument must be a zp::qconfig<activation quantizer, weight "
                  "quantizer>, or a zp::algorithm<policy>");
    static_assert(Kind.has_algorithms || !is_algorithm<QConfig>,
                  "for_type<Kind, algorithm<policy>>: only zp::op::conv2d, zp::op::conv3d, zp::op::conv_transpose2d, "
                  "zp::op::conv_transpose3d and zp::op::linear "
                  "layers have algorithms to choose from");
    static_assert(has_no_options<QConfig>,
                  "for_type<Kind, QConfig>: the inner qconfig must have no options of its own but table_bits: names, "
                  "types and requantize_with belong to the outer qconfig, which holds for the whole model");
    using qconfig = QConfig;
    static constexpr bool quantizes = !is_algorithm<QConfig>;
    static constexpr algorithm_policy policy = policy_in<QConfig>;
    static constexpr bool selects_type(const operator_kind& kind) { return &kind == &Kind; }
};
/// How accumulators become codes, for the whole model: zp::nearest_even (the default), zp::float_bias,
/// zp::fixed_point_double_rounding, zp::fixed_point_single_rounding, zp::fixed_point_litert.
template <class Policy> struct requantize_with : qconfig_option {
    static_assert(requantization<Policy>,
                  "requantize_with<Policy>: Policy must be zp::nearest_even, zp::float_bias, "
                  "zp::fixed_point_double_rounding, zp::fixed_point_single_rounding or zp::fixed_point_litert");
    using requantization_policy = Policy;
};

/// Every sum of two values is a node of its own, over 8-bit operands, as in other systems. Without it, and under
/// zp::nearest_even, an add of a conv2d's or linear's output, which nothing else reads, and of a value that is computed before
/// it becomes a part of that layer: the residual is added to the int32 sums, and the result is rounded once. For the
/// whole model.
struct separate_sums : qconfig_option {};

/// convert takes off each bias what rounding the weights adds to the mean output of its channel, over the calibration data:
/// see input_sums.hpp. Calibration takes longer by about what depthwise convolutions over all layers' inputs would. For the
/// whole model.
struct correct_biases : qconfig_option {};

namespace detail {
/// What stands for the parts of a qconfig that breaks a rule.
using quantizer_of_nothing = quantizer<quint8, per_tensor_affine, no_observer>;
using weights_of_nothing = quantizer<qint8, per_tensor_symmetric, no_observer>;
template <class... Options> inline constexpr bool are_options = (std::is_base_of_v<qconfig_option, Options> && ...);
template <class Activation, class Weight, class... Options> struct qconfig_rules {
    static constexpr bool has_quantizers = is_quantizer<Activation> && is_quantizer<Weight>,
                          has_options = are_options<Options...>;
    static_assert(is_quantizer<Activation> && is_quantizer<Weight>,
                  "qconfig<Activation, Weight, Options...>: the first two arguments must be zp::quantizer<dtype, "
                  "qscheme, observer>, activations first, then weights; options are added to another qconfig, such as "
                  "a preset, by zp::with<zp::default_qconfig, options...>");
    static_assert(
        has_options || !has_quantizers,
        "qconfig<Activation, Weight, Options...>: each option must be keep_float<\"name\">, keep_float_type<op>, "
        "dynamic<\"name\", Policy>, dynamic_type<op, Policy>, weight_only<\"name\", Policy>, weight_only_type<op, "
        "Policy>, "
        "for_layer<\"name\", QConfig>, for_type<op, QConfig>, algorithm<policy>, requantize_with<policy>, "
        "separate_sums, correct_biases, table_bits<bits>, embedding_bits<bits>, codes_in<\"input\"> or "
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

namespace detail {
template <class Option> struct own_requantization { using type = void; };
template <class P> struct own_requantization<requantize_with<P>> { using type = P; };
template <class Default, class... Options> struct requantization_of { using type = Default; };
template <class Default, class First, class... Rest> struct requantization_of<Default, First, Rest...> {
    using own = typename own_requantization<First>::type;
    using type = std::conditional_t<std::is_void_v<own>, typename requantization_of<Default, Rest...>::type, own>;
};
// The policy of the options that are of weights alone, or of those that are not; void without such.
template <bool WeightsAlone, class Option> struct own_policy { using type = void; };
template <bool WeightsAlone, class Option>
    requires(!std::is_void_v<typename Option::integer_weights>)
struct own_policy<WeightsAlone, Option> {
    using policy = typename Option::integer_weights;
    using type = std::conditional_t<weights_alone<policy> == WeightsAlone, policy, void>;
};
template <class Own, class Others> struct one_policy {
    static_assert(std::is_void_v<Own> || std::is_void_v<Others> || std::is_same_v<Own, Others>,
                  "qconfig<Activation, Weight, Options...>: all dynamic layers of a model have one policy, and all "
                  "weight_only layers have one: give these options the same one");
};
template <bool WeightsAlone, class... Options> struct policy_of_options { using type = void; };
template <bool WeightsAlone, class First, class... Rest> struct policy_of_options<WeightsAlone, First, Rest...> {
    using own = typename own_policy<WeightsAlone, First>::type;
    using others = typename policy_of_options<WeightsAlone, Rest...>::type;
    static_assert(sizeof(one_policy<own, others>) != 0);
    using type = std::conditional_t<std::is_void_v<own>, others, own>;
};
// The entry of an option: its qconfig, or the whole model's for those that have none.
template <class Option, class Default> struct entry_of { using type = Default; };
template <fixed_string Name, class C, class Default>
    requires(!is_algorithm<C>)
struct entry_of<for_layer<Name, C>, Default> {
    using type = checked_qconfig<C>;
};
template <const operator_kind& Kind, class C, class Default>
    requires(!is_algorithm<C>)
struct entry_of<for_type<Kind, C>, Default> {
    using type = checked_qconfig<C>;
};
template <class Config, class Options> struct entries_of;
template <class Config, class... Options> struct entries_of<Config, std::tuple<Options...>> {
    static constexpr int count = 1 + static_cast<int>(sizeof...(Options));
    template <int I>
    using entry = std::tuple_element_t<I, std::tuple<Config, typename entry_of<Options, Config>::type...>>;
    using requantization = typename requantization_of<nearest_even, Options...>::type;
    /// Whether adds become parts of the layers in front of them.
    static constexpr bool merges_sums =
        requantization::adds_residuals && !(std::is_same_v<Options, separate_sums> || ...);
    /// Whether biases are corrected by what calibration sees.
    static constexpr bool corrects_biases = (std::is_same_v<Options, correct_biases> || ...);
    /// The policies of layers between floats: see stage_policies.
    using dynamic = typename policy_of_options<false, Options...>::type;
    using weight_only = typename policy_of_options<true, Options...>::type;
    /// Whether an option names a node.
    template <class Option> static constexpr bool selects_name(const node& n) {
        return Option::name[0] != 0 && is_called(n, Option::name);
    }
    /// Which option, from 1, says how a node is quantized; 0: none does. A name goes before a type.
    static constexpr int option_of(const node& n) {
        int chosen = 0, i = 0;
        ((++i, chosen == 0 && Options::quantizes && selects_name<Options>(n) ? chosen = i : 0), ...);
        i = 0;
        ((++i, chosen == 0 && Options::quantizes && Options::selects_type(*n.op->kind) && Options::takes(n) ? chosen = i
                                                                                                            : 0),
         ...);
        return chosen;
    }
    /// Which entry applies to a node: -1 for float32, 0 for the qconfig itself, i for its i-th option.
    static constexpr int choose(const node& n) {
        constexpr bool floats[] = {false, Options::floats...};
        const int chosen = option_of(n);
        return floats[chosen] || (has_int16(chosen) && !n.op->has_int16) ? -1 : chosen;
    }
    /// Whether an option gives what it selects integer weights between floats.
    static constexpr std::array<bool, sizeof...(Options) + 1> gives_weights{
        false, !std::is_void_v<typename Options::integer_weights>...};
    static constexpr std::array<bool, sizeof...(Options) + 1> gives_weights_alone{
        false, !std::is_void_v<typename own_policy<true, Options>::type>...};
    /// How a node that stays in float32 is computed, for people.
    static constexpr const char* products_of(const node& n) {
        const auto option = static_cast<std::size_t>(option_of(n));
        if (!gives_weights[option] || n.flags.outside_stubs) return "float32";
        return gives_weights_alone[option] ? "weight-only" : "dynamic";
    }
    /// Gives it the integer weights that an option says, if it can have them.
    template <class Arch> static constexpr void make_integer_weights(const node* nodes, node& n) {
        const auto option = static_cast<std::size_t>(option_of(n));
        if (!gives_weights[option] || n.flags.outside_stubs) return;
        const auto make = [&]<class Policy>(std::type_identity<Policy>) {
            if constexpr (!std::is_void_v<Policy>)
                if (operators::why_no_integer_weights<Policy>(n) == nullptr)
                    operators::make_integer_weights<Policy, Arch>(nodes, n);
        };
        if (gives_weights_alone[option]) make(std::type_identity<weight_only>{});
        else make(std::type_identity<dynamic>{});
    }
    /// Entries of a dynamic_qconfig have no quantizer for activations.
    template <class Entry> static constexpr bool is_int16() {
        if constexpr (requires { typename Entry::activation; }) return quantizes_to_int16<typename Entry::activation>;
        else return false;
    }
    /// Whether an entry has activations of 16 bits. What has no form over those stays in float32.
    static constexpr bool has_int16(int index) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return ((static_cast<int>(I) == index && is_int16<entry<I>>()) || ...);
        }
        (std::make_index_sequence<static_cast<std::size_t>(count)>{});
    }
    /// How the algorithm of a node is chosen: as the first algorithm option for its name says, else for its type, else for all.
    static constexpr algorithm_policy algorithm_of(const node& n) {
        algorithm_policy policies[] = {{}, Options::policy...};
        const int rank[] = {1, (Options::quantizes                   ? 0
                                : selects_name<Options>(n)           ? 4
                                : Options::selects_type(*n.op->kind) ? 3
                                : Options::is_default                ? 2
                                                                     : 0)...};
        int best = 0;
        for (int i = 1; i <= static_cast<int>(sizeof...(Options)); ++i)
            if (rank[i] > rank[best]) best = i;
        return policies[best];
    }
    /// Whether option i (from 1) selects layers of this type.
    static constexpr bool selects_type([[maybe_unused]] int option, [[maybe_unused]] const operator_kind& kind) {
        bool selected = false;
        int i = 0;
        ((selected = selected || (++i == option && Options::selects_type(kind))), ...);
        return selected;
    }
    static constexpr std::array<const char*, sizeof...(Options) + 1> names{"", Options::name...};
    /// Whether an option says how algorithms are chosen.
    static constexpr std::array<bool, sizeof...(Options) + 1> chooses_algorithm{false, !Options::quantizes...};
};
}  // namespace detail

namespace detail {
template <class Config> struct qconfig_that_is_none {
    static_assert(is_qconfig<Config>,
                  "QConfig must be a struct derived from zp::qconfig<activation quantizer, weight quantizer, "
                  "options...>; where the compiler refused something in its arguments, that is the mistake");
};
}  // namespace detail
/// The entries of a qconfig as the passes need them.
template <class Config>
struct qconfig_entries : detail::entries_of<checked_qconfig<Config>, typename checked_qconfig<Config>::options> {
    static_assert(sizeof(detail::qconfig_that_is_none<Config>) != 0);
};

}  // namespace v0
}  // namespace zp
