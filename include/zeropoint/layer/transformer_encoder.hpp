// SPDX-License-Identifier: BSD-3-Clause
// Attention and transformer encoders on their own: torch.nn.MultiheadAttention, TransformerEncoderLayer and TransformerEncoder
// over as many rows as there are.
#pragma once

#include <type_traits>

#include <zeropoint/layer/alone.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/attention.hpp>

namespace zp::inline v0 {

/// torch.nn.MultiheadAttention of queries, keys and values that are the same rows, 1 to MostRows of them: softmax runs over the
/// rows that a call brings, so there is no padding and no mask. Its two products are of int8 codes (kernel/attention/integer_attention.hpp)
/// where the policy's `attention` is attention_products::int8, as dynamic_policy's is by default, else float. Made of
/// in_proj_weight (3 * model x model: queries, keys, values), in_proj_bias, out_proj.weight (model x model) and out_proj.bias.
template <int Model, int Heads, int MostRows, class Policy = dynamic_policy<>, class Arch = default_architecture>
using multi_head_attention = alone<self_attention<"", Heads>, Model, Policy, Arch, MostRows>;

/// Between the two linear layers of an encoder layer.
enum class feed_forward_activation { relu, gelu };

/// The arguments of torch.nn.TransformerEncoderLayer: d_model, nhead, dim_feedforward, activation, norm_first, layer_norm_eps;
/// and whether an encoder has a last normalization, as those with norm_first mostly do.
struct transformer {
    int model, heads, feed_forward;  // channels, heads that divide them, and channels between the two linear layers
    feed_forward_activation activation = feed_forward_activation::relu;  // between those
    bool norm_first = false;      // norms in front of attention and of the linear layers, not behind the sums
    layer_norm_options norm{};    // of all norms
    bool last_norm = norm_first;  // whether one stands behind the last layer
};

namespace detail {
template <transformer Options>
using activation_of = std::conditional_t<Options.activation == feed_forward_activation::gelu, gelu, relu>;
template <transformer Options, int Layers>
using encoder_of = encoder<"", Layers, Options.heads, Options.feed_forward, activation_of<Options>,
                           encoder_options{Options.norm_first, Options.norm}>;
template <transformer Options, int Layers>
using whole_encoder_of =
    std::conditional_t<Options.last_norm, sequential<encoder_of<Options, Layers>, layer_norm<"norm", Options.norm>>,
                       encoder_of<Options, Layers>>;
}  // namespace detail

/// torch.nn.TransformerEncoderLayer in inference, over 1 to MostRows rows; see zp::encoder_layer. Made of its state dict:
/// "self_attn.in_proj_weight", ..., "norm2.bias".
template <transformer Options, int MostRows, class Policy = dynamic_policy<>, class Arch = default_architecture>
using transformer_encoder_layer =
    alone<encoder_layer<"", Options.heads, Options.feed_forward, detail::activation_of<Options>,
                        encoder_options{Options.norm_first, Options.norm}>,
          Options.model, Policy, Arch, MostRows>;

/// torch.nn.TransformerEncoder: `Layers` layers under "layers.0." and so on, and with Options.last_norm a normalization under
/// "norm." behind them.
template <transformer Options, int Layers, int MostRows, class Policy = dynamic_policy<>,
          class Arch = default_architecture>
using transformer_encoder = alone<detail::whole_encoder_of<Options, Layers>, Options.model, Policy, Arch, MostRows>;

}  // namespace zp::inline v0
