// SPDX-License-Identifier: BSD-3-Clause
// Ready-made qconfigs of quantize_dynamic, under which nothing is calibrated.
#pragma once

#include <zeropoint/workflow/quantize_dynamic.hpp>

namespace zp::inline v0 {

/// int8 weights with a scale an output, and activations of 8 bits, quantized as they come: PyTorch's quantize_dynamic, but that
/// convolutions take part, and tables of embeddings, which have 8 bits under all presets here.
struct int8_dynamic_qconfig : dynamic_qconfig<dynamic_policy<>, default_cost_rule, embedding_bits<8>> {};

/// 4-bit weights of linear layers in groups of 32 inputs, 4.5 bits a weight with their scales, which are those of the least squared
/// error; int8 activations, quantized as they come. Convolutions, recurrent layers and attention are those of int8_dynamic_qconfig.
struct int4_dynamic_qconfig : dynamic_qconfig<dynamic_group_policy<qint4, 32, group_range::least_squares>,
                                              default_cost_rule, embedding_bits<8>> {};

/// int8 weights of linear and recurrent layers with a scale an output, multiplied with floats: nearest to the float network, for
/// a quarter of its bytes and about its time. Convolutions stay float.
struct int8_weight_only_qconfig : dynamic_qconfig<weight_only_policy<qint8>, default_cost_rule, embedding_bits<8>> {};

/// The same with weights of 4 bits in groups of 32 inputs, 5 bits a weight with their scales.
struct int4_weight_only_qconfig : dynamic_qconfig<weight_only_policy<qint4, 32>, default_cost_rule, embedding_bits<8>> {
};

}  // namespace zp::inline v0
