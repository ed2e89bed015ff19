// SPDX-License-Identifier: BSD-3-Clause
// GPT-2 (Radford 2019), parameters named as in Hugging Face's GPT2Model and GPT2LMHeadModel.
#pragma once

#include <type_traits>
#include <utility>

#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/causal_attention.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {

/// The extents of a GPT-2 over `length` tokens a call; by default those of the smallest one.
struct gpt2_extents {
    int length = 128;                             // tokens of a call
    int channels = 768, layers = 12, heads = 12;  // of a token; heads divide them
    int inner = 3072;                             // channels between the two linear layers of a block
    int vocabulary = 50257, positions = 1024;     // rows of the tables; as many places are kept
    int cache_bits = 32;                          // of kept keys and values: 32, floats; 8, codes
    bool tied = false;                            // the scores of gpt2_lm have the table as their weight
};

namespace gpt2_parts {

template <fixed_string Name, gpt2_extents E>
struct block : sequential<residual<layer_norm<Name + ".ln_1">,
                                   causal_attention<causal_attention_options{.heads = E.heads,
                                                                             .depth = E.channels / E.heads,
                                                                             .context = E.positions,
                                                                             .cache_bits = E.cache_bits},
                                                    linear_by_inputs<Name + ".attn.c_attn", 3 * E.channels>>,
                                   linear_by_inputs<Name + ".attn.c_proj", E.channels>>,
                          residual<layer_norm<Name + ".ln_2">, linear_by_inputs<Name + ".mlp.c_fc", E.inner>, gelu_tanh,
                                   linear_by_inputs<Name + ".mlp.c_proj", E.channels>>> {};

template <fixed_string Prefix, gpt2_extents E, class Places> struct blocks;
template <fixed_string Prefix, gpt2_extents E, int... I>
struct blocks<Prefix, E, std::integer_sequence<int, I...>> : sequential<block<Prefix + "h." + numeral<I>, E>...> {};

template <fixed_string Prefix, gpt2_extents E>
struct all : sequential<add<embedding<Prefix + "wte", E.vocabulary, E.channels>,
                            position_embedding<Prefix + "wpe", E.positions, E.channels>>,
                        blocks<Prefix, E, std::make_integer_sequence<int, E.layers>>, layer_norm<Prefix + "ln_f">> {};

}  // namespace gpt2_parts

/// `zp::models::gpt2<zp::models::gpt2_extents{.length = 64}>`: GPT2Model's last_hidden_state, 1 x length x channels, of `length`
/// token ids. Each place sees those before it alone. Its state dict is `GPT2Model(config).state_dict()`. Under zp::streaming a call is
/// one token, and its keys and values are kept:
///     zp::streaming<zp::dynamically_quantized<net, config>> stream(model);
///     stream(std::array{token}, vector);
template <gpt2_extents Extents = gpt2_extents{}>
struct gpt2 : model<indices<Extents.length>, gpt2_parts::all<"", Extents>> {};

/// GPT2LMHeadModel in the same way, to a score for each token of the vocabulary: "transformer." in front of its names, and "lm_head.weight",
/// which files of `save_pretrained` do not have, as it is "transformer.wte.weight" again: they load with `.tied = true`.
template <gpt2_extents Extents = gpt2_extents{}>
struct gpt2_lm
    : model<indices<Extents.length>, gpt2_parts::all<"transformer.", Extents>,
            std::conditional_t<Extents.tied, tied_linear<"lm_head", Extents.vocabulary, "transformer.wte.weight">,
                               linear<"lm_head", Extents.vocabulary, with_bias::no>>> {};

}  // namespace zp::inline v0::models
