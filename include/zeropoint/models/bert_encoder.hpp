// SPDX-License-Identifier: BSD-3-Clause
// The encoder of BERT (Devlin 2018), parameters named as in Hugging Face's
// BertEncoder: `layer.0.attention.self.query`, ...
#pragma once

#include <cstdint>
#include <ratio>
#include <utility>

#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/models/parts.hpp>

namespace zp::inline v0::models {
namespace bert_parts {

using operators::merge_heads;
using operators::split_heads;

/// 1 / sqrt(x) in billionths, rounded down.
constexpr std::int64_t inverse_root(int x) {
    std::int64_t low = 0, high = 1'000'000'000;
    while (low != high) {
        const std::int64_t middle = (low + high + 1) / 2;
        if (middle * middle <= 1'000'000'000'000'000'000 / x) low = middle;
        else high = middle - 1;
    }
    return low;
}

template <fixed_string Name, int Channels, int Heads>
struct heads_of : sequential<linear<Name, Channels>, operator_layer<op::permute, "", split_heads<Heads>>> {};

/// Q K^T / sqrt(width of a head), a matrix a head.
template <fixed_string Name, int Channels, int Heads, std::int64_t Scale = inverse_root(Channels / Heads)>
struct scores
    : sequential<
          matmul_transposed<heads_of<Name + ".query", Channels, Heads>, heads_of<Name + ".key", Channels, Heads>>,
          mul_scalar<std::ratio<Scale, 1'000'000'000>>> {};

/// The softmax of those over the tokens that Mask keeps; void: over all.
template <class Scores, class Mask> struct probabilities : masked_softmax<Scores, Mask> {};
template <class Scores> struct probabilities<Scores, void> : sequential<Scores, softmax> {};

template <fixed_string Name, int Channels, int Heads, class Mask>
struct self_attention
    : sequential<matmul<probabilities<scores<Name, Channels, Heads>, Mask>, heads_of<Name + ".value", Channels, Heads>>,
                 operator_layer<op::permute, "", merge_heads>> {};

/// Layers(x) + x, normalized, with BERT's epsilon of 1e-12.
template <fixed_string Norm, class... Layers>
struct normalized_residual
    : sequential<residual<Layers...>,
                 layer_norm<Norm, layer_norm_options{.epsilon_millionths = 0, .epsilon_trillionths = 1}>> {};

template <fixed_string Name, int Channels, int Heads, int Inner, class Mask>
struct layer : sequential<normalized_residual<Name + ".attention.output.LayerNorm",
                                              self_attention<Name + ".attention.self", Channels, Heads, Mask>,
                                              linear<Name + ".attention.output.dense", Channels>>,
                          normalized_residual<Name + ".output.LayerNorm", linear<Name + ".intermediate.dense", Inner>,
                                              gelu, linear<Name + ".output.dense", Channels>>> {};

template <int Channels, int Heads, int Inner, class Places, fixed_string Prefix = "", class Mask = void> struct layers;
template <int Channels, int Heads, int Inner, int... I, fixed_string Prefix, class Mask>
struct layers<Channels, Heads, Inner, std::integer_sequence<int, I...>, Prefix, Mask>
    : sequential<layer<Prefix + "layer." + numeral<I>, Channels, Heads, Inner, Mask>...> {};

}  // namespace bert_parts

/// From the embeddings of Length tokens, 1 x Length x Channels, to as many
/// vectors. No token is masked: zp::models::bert has a mask. The defaults are the extents of MiniLM-L6 (Wang
/// 2020); BERT-base has 768 channels, 12 layers, 12 heads and 3072 inner
/// channels.
template <int Length = 128, int Channels = 384, int Layers = 6, int Heads = 12, int Inner = 4 * Channels>
struct bert_encoder : model<input<1, Length, Channels>,
                            bert_parts::layers<Channels, Heads, Inner, std::make_integer_sequence<int, Layers>>> {};

}  // namespace zp::inline v0::models
