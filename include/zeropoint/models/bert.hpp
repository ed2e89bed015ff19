// SPDX-License-Identifier: BSD-3-Clause
// BERT (Devlin 2018) from token ids to vectors or classes, parameters named as in Hugging Face's BertModel and
// BertForSequenceClassification.
#pragma once

#include <utility>

#include <zeropoint/operators/embedding.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/slice.hpp>
#include <zeropoint/models/bert_encoder.hpp>

namespace zp::inline v0::models {

/// The extents of a BERT over Length tokens; by default those of MiniLM-L6. BERT-base has 768 channels, 12 layers, 12 heads and
/// 3072 inner channels.
struct bert_extents {
    int length = 128;  // tokens of a sequence
    /// Of a token; layers; heads of attention, which divide the channels; channels between two linear layers.
    int channels = 384, layers = 6, heads = 12, inner = 1536;
    int vocabulary = 30522, positions = 512, token_types = 2;  // rows of the tables: tokens, positions, token types
};

namespace bert_parts {

/// word + token type + position, normalized.
template <fixed_string Name, bert_extents E>
struct embeddings
    : sequential<
          add<sequential<from<"input_ids">, embedding<Name + ".word_embeddings", E.vocabulary, E.channels>>,
              sequential<from<"token_type_ids">,
                         embedding<Name + ".token_type_embeddings", E.token_types, E.channels>>>,
          residual<position_embedding<Name + ".position_embeddings", E.positions, E.channels>>,
          layer_norm<Name + ".LayerNorm", layer_norm_options{.epsilon_millionths = 0, .epsilon_trillionths = 1}>> {};

/// The inputs behind the token ids, and all between them and the vectors.
template <fixed_string Prefix, bert_extents E>
struct all : sequential<named<"token_type_ids", indices<E.length>>, named<"attention_mask", indices<E.length>>,
                        named<"mask", zp::attention_mask>, embeddings<Prefix + "embeddings", E>,
                        layers<E.channels, E.heads, E.inner, std::make_integer_sequence<int, E.layers>,
                               Prefix + "encoder.", from<"mask">>> {};

}  // namespace bert_parts

/// `zp::models::bert<zp::models::bert_extents{.length = 64}>`: BertModel's last_hidden_state, 1 x length x channels, from three
/// inputs of `length` integers each, in this order and called as its arguments: "input_ids", "token_type_ids" (0 for a single
/// sentence), "attention_mask" (1 for a token, 0 for padding). A call is one sentence; a padded batch is a call for each.
///     model(zp::in(ids, types, mask), y, memory)
/// Vectors at padding are computed too, as Hugging Face computes them. Its state dict is
/// `BertModel(config, add_pooling_layer=False).state_dict()`.
template <bert_extents Extents = bert_extents{}>
struct bert : model<named<"input_ids", indices<Extents.length>>, bert_parts::all<"", Extents>> {};

/// BertForSequenceClassification in the same way, to Classes values:
///     classifier(tanh(pooler(vector of the first token)))
template <int Classes, bert_extents Extents = bert_extents{}>
struct bert_classifier
    : model<named<"input_ids", indices<Extents.length>>, bert_parts::all<"bert.", Extents>, slice<axis::width, 0, 1>,
            linear<"bert.pooler.dense", Extents.channels>, tanh, linear<"classifier", Classes>> {};

}  // namespace zp::inline v0::models
