// SPDX-License-Identifier: BSD-3-Clause
// What may follow the two quantizers of a qconfig: exceptions by layer name and by layer type, and what holds for the whole model.
#pragma once

#include <tuple>
#include <type_traits>

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/graph/node.hpp>
#include <zeropoint/operators/dynamic_policy.hpp>
#include <zeropoint/operators/integer_weights.hpp>
#include <zeropoint/operators/requantization.hpp>
#include <zeropoint/operators/weight_only_policy.hpp>

namespace zp::inline v0 {

/// Base of everything that may follow the two quantizers of a qconfig.
struct qconfig_option {
    static constexpr bool floats = false;      // what it selects stays in float32
    static constexpr bool quantizes = true;    // says how what it selects is quantized
    static constexpr bool is_default = false;  // says something about every layer
    static constexpr int kept_inputs = 0;      // how many inputs calibration keeps for the conversion
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

/// Calibration keeps so many of its inputs, and convert takes the ranges for which the network's outputs over them are nearest to the float
/// network's, and corrects biases where that brings them nearer: see zp::choose_by_outputs. For the whole model. Convert then needs
/// <zeropoint/methods/choose_by_outputs.hpp>; files and deployed programs do not.
template <int Inputs = 64> struct compare_outputs : qconfig_option {
    static_assert(Inputs >= 1, "compare_outputs<Inputs>: expected at least one input to compare outputs over");
    static constexpr int kept_inputs = Inputs;
};

}  // namespace zp::inline v0
