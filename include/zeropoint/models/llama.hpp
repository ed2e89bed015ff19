// SPDX-License-Identifier: BSD-3-Clause
// Llama (Touvron 2023), parameters named as in Hugging Face's LlamaModel and LlamaForCausalLM.
#pragma once

#include <utility>

#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/causal_attention.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/rms_norm.hpp>
#include <zeropoint/models/parts.hpp>

namespace zp {
inline namespace v0 {
namespace models {

/// The extents of a Llama over `length` tokens a call; by default those of TinyLlama, 1.1 billion parameters.
struct llama_extents {
    int length = 128;                                             // tokens of a call
    int channels = 2048, layers = 22, heads = 32, key_heads = 4;  // of a token; of queries, and of keys and values
    int depth = 64;                                               // channels of a head
    int inner = 5632;                                             // channels of the gate
    int vocabulary = 32000, context = 2048;                       // rows of the table; places that are kept
    int theta = 10000;                                            // of rotary positions
    int epsilon_millionths = 10;                                  // of norms: rms_norm_eps = 1e-5
};

namespace llama_parts {

template <fixed_string Name, llama_extents E>
using norm = rms_norm<Name, rms_norm_options{.epsilon_millionths = E.epsilon_millionths}>;
template <fixed_string Name, int Outputs> using project = linear<Name, Outputs, with_bias::no>;

template <fixed_string Name, llama_extents E>
struct layer : sequential<residual<norm<Name + ".input_layernorm", E>,
                                   causal_attention<causal_attention_options{.heads = E.heads,
                                                                             .key_heads = E.key_heads,
                                                                             .depth = E.depth,
                                                                             .context = E.context,
                                                                             .theta = E.theta},
                                                    project<Name + ".self_attn.q_proj", E.heads * E.depth>,
                                                    project<Name + ".self_attn.k_proj", E.key_heads * E.depth>,
                                                    project<Name + ".self_attn.v_proj", E.key_heads * E.depth>>,
                                   project<Name + ".self_attn.o_proj", E.channels>>,
                          residual<norm<Name + ".post_attention_layernorm", E>,
                                   mul<sequential<project<Name + ".mlp.gate_proj", E.inner>, silu>,
                                       project<Name + ".mlp.up_proj", E.inner>>,
                                   project<Name + ".mlp.down_proj", E.channels>>> {};

template <fixed_string Prefix, llama_extents E, class Places> struct layers;
template <fixed_string Prefix, llama_extents E, int... I>
struct layers<Prefix, E, std::integer_sequence<int, I...>> : sequential<layer<Prefix + "layers." + numeral<I>, E>...> {
};

template <fixed_string Prefix, llama_extents E>
struct all : sequential<embedding<Prefix + "embed_tokens", E.vocabulary, E.channels>,
                        layers<Prefix, E, std::make_integer_sequence<int, E.layers>>, norm<Prefix + "norm", E>> {};

}  // namespace llama_parts

/// `zp::models::llama<zp::models::llama_extents{.length = 64}>`: LlamaModel's last_hidden_state, 1 x length x channels, of
/// `length` token ids, without scaling of rotary positions. Its state dict is `LlamaModel(config).state_dict()`. Under zp::streaming a
/// call is one token, as in zp::models::gpt2.
template <llama_extents Extents = llama_extents{}>
struct llama : model<indices<Extents.length>, llama_parts::all<"", Extents>> {};

/// LlamaForCausalLM in the same way, to a score for each token of the vocabulary: "model." in front of its names, and "lm_head.weight".
template <llama_extents Extents = llama_extents{}>
struct llama_lm : model<indices<Extents.length>, llama_parts::all<"model.", Extents>,
                        linear<"lm_head", Extents.vocabulary, with_bias::no>> {};

}  // namespace models
}  // namespace v0
}  // namespace zp
