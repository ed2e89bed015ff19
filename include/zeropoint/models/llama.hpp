// SPDX-License-Identifier: BSD-3-Clause
// Llama (Touvron 2023) and what is built like it, parameters named as in Hugging Face's LlamaForCausalLM, Qwen2ForCausalLM and
// Qwen3ForCausalLM.
#pragma once

#include <type_traits>
#include <utility>

#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/causal_attention.hpp>
#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/rms_norm.hpp>
#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {

/// The extents of a Llama over `length` tokens a call; by default those of TinyLlama, 1.1 billion parameters. Fields behind the first two are
/// what a checkpoint's config.json says, by the names that stand here.
struct llama_extents {
    int length = 128;                                             // tokens of a call
    int channels = 2048, layers = 22, heads = 32, key_heads = 4;  // of a token; of queries, and of keys and values
    int depth = 64;                                               // channels of a head: head_dim
    int inner = 5632;                                             // channels of the gate: intermediate_size
    int vocabulary = 32000, context = 2048;                       // rows of the table; places that are kept
    int theta = 10000;                                            // of rotary positions: rope_theta
    int epsilon_millionths = 10;                                  // of norms: rms_norm_eps = 1e-5
    rotary_scaling scaling{};                                     // of rotary positions: rope_scaling
    int cache_bits = 32;                                          // of kept keys and values: 32, floats; 8, codes
    bool tied = false;      // the scores' weight is the table: tie_word_embeddings
    bool qkv_bias = false;  // queries, keys and values have biases: Qwen2
    bool qk_norm = false;   // queries and keys are normalized by heads: Qwen3
};

// Of published checkpoints, under zp::models::llama_lm: what their config.json says. `length` and `context` are free:
//     constexpr auto extents = [] { auto e = zp::models::qwen2_5_0_5b; e.context = 4096; return e; }();

/// TinyLlama/TinyLlama-1.1B, its intermediate checkpoints and Chat versions.
inline constexpr llama_extents tinyllama{};
/// HuggingFaceTB/SmolLM2-135M and -Instruct: places up to 8192.
inline constexpr llama_extents smollm2_135m{.channels = 576,
                                            .layers = 30,
                                            .heads = 9,
                                            .key_heads = 3,
                                            .inner = 1536,
                                            .vocabulary = 49152,
                                            .theta = 100000,
                                            .tied = true};
/// meta-llama/Llama-3.2-1B and -Instruct: places up to 131072.
inline constexpr llama_extents llama_3_2_1b{
    .layers = 16,
    .key_heads = 8,
    .inner = 8192,
    .vocabulary = 128256,
    .theta = 500000,
    .scaling = {.factor = 32, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 8192},
    .tied = true};
/// Qwen/Qwen2.5-0.5B, -Instruct and Coder: places up to 32768.
inline constexpr llama_extents qwen2_5_0_5b{.channels = 896,
                                            .layers = 24,
                                            .heads = 14,
                                            .key_heads = 2,
                                            .inner = 4864,
                                            .vocabulary = 151936,
                                            .theta = 1000000,
                                            .epsilon_millionths = 1,
                                            .tied = true,
                                            .qkv_bias = true};
/// Qwen/Qwen3-0.6B and -Base: places up to 40960.
inline constexpr llama_extents qwen3_0_6b{.channels = 1024,
                                          .layers = 28,
                                          .heads = 16,
                                          .key_heads = 8,
                                          .depth = 128,
                                          .inner = 3072,
                                          .vocabulary = 151936,
                                          .theta = 1000000,
                                          .epsilon_millionths = 1,
                                          .tied = true,
                                          .qk_norm = true};

namespace llama_parts {

template <fixed_string Name, llama_extents E>
using norm = rms_norm<Name, rms_norm_options{.epsilon_millionths = E.epsilon_millionths}>;
template <fixed_string Name, int Outputs> using project = linear<Name, Outputs, with_bias::no>;

/// What attention reads: so many heads of Name + "_proj", with their norm, Name + "_norm", where there is one.
template <fixed_string Name, int Heads, llama_extents E>
using of_heads = linear<Name + "_proj", Heads * E.depth, E.qkv_bias ? with_bias::yes : with_bias::no>;
template <fixed_string Name, int Heads, llama_extents E>
struct normalized_heads
    : sequential<
          of_heads<Name, Heads, E>,
          rms_norm<Name + "_norm", rms_norm_options{.epsilon_millionths = E.epsilon_millionths, .groups = Heads}>> {};
template <fixed_string Name, int Heads, llama_extents E>
using queries_or_keys = std::conditional_t<E.qk_norm, normalized_heads<Name, Heads, E>, of_heads<Name, Heads, E>>;

template <fixed_string Name, llama_extents E>
struct layer : sequential<residual<norm<Name + ".input_layernorm", E>,
                                   causal_attention<causal_attention_options{.heads = E.heads,
                                                                             .key_heads = E.key_heads,
                                                                             .depth = E.depth,
                                                                             .context = E.context,
                                                                             .theta = E.theta,
                                                                             .scaling = E.scaling,
                                                                             .cache_bits = E.cache_bits},
                                                    queries_or_keys<Name + ".self_attn.q", E.heads, E>,
                                                    queries_or_keys<Name + ".self_attn.k", E.key_heads, E>,
                                                    of_heads<Name + ".self_attn.v", E.key_heads, E>>,
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
/// `length` token ids; with qkv_bias Qwen2Model's, with qk_norm Qwen3Model's. Its state dict is `LlamaModel(config).state_dict()`. Under
/// zp::streaming a call is one token, as in zp::models::gpt2.
template <llama_extents Extents = llama_extents{}>
struct llama : model<indices<Extents.length>, llama_parts::all<"", Extents>> {};

/// LlamaForCausalLM in the same way, to a score for each token of the vocabulary: "model." in front of its names, and "lm_head.weight",
/// which a state dict of tied extents need not have.
template <llama_extents Extents = llama_extents{}>
struct llama_lm
    : model<indices<Extents.length>, llama_parts::all<"model.", Extents>,
            std::conditional_t<Extents.tied, tied_linear<"lm_head", Extents.vocabulary, "model.embed_tokens.weight">,
                               linear<"lm_head", Extents.vocabulary, with_bias::no>>> {};

}  // namespace zp::inline v0::models
