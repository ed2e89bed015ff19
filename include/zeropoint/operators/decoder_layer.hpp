// SPDX-License-Identifier: BSD-3-Clause
// Layers of a transformer's decoder: attention of a sequence to itself, to another one, and two linear layers.
#pragma once

#include <utility>

#include <zeropoint/operators/attention.hpp>

namespace zp::inline v0 {

/// PyTorch's TransformerDecoderLayer in inference over a sequence of 1 x length x channels and Memory(x), such as
/// zp::from<"memory">, which has as many channels and may have another length; with FeedForward values between its two linear
/// layers and an activation such as zp::relu or zp::gelu:
///     x = norm1(x + self_attn(x)), x = norm2(x + multihead_attn(x, memory)), y = norm3(x + linear2(activation(linear1(x))))
/// or, norm_first,
///     x = x + self_attn(norm1(x)), x = x + multihead_attn(norm2(x), memory), y = x + linear2(activation(linear1(norm3(x))))
/// under its parameter names: "name.self_attn.in_proj_weight", ..., "name.multihead_attn.in_proj_weight", ..., "name.norm3.bias". Mask
/// leaves out keys of the sequence, as a matrix below the diagonal does (PyTorch's tgt_mask), and MemoryMask those of memory: see
/// zp::masked_softmax, PyTorch's are the opposite. For a token at a time there is zp::causal_attention, which keeps its keys.
template <fixed_string Name, int Heads, int FeedForward, class Memory, class Activation = relu,
          encoder_options Options = encoder_options{}, class Mask = void, class MemoryMask = void>
struct decoder_layer {
    static_assert(FeedForward >= 1, "decoder_layer<Name, Heads, FeedForward, Memory>: FeedForward must be at least 1");
    /// Attention of the sequence to itself.
    using to_itself = self_attention<operators::joined<Name, "self_attn">, Heads, with_bias::yes, Mask>;
    /// Attention of the sequence to the memory.
    using to_memory =
        cross_attention<operators::joined<Name, "multihead_attn">, Heads, Memory, with_bias::yes, MemoryMask>;
    static constexpr int nodes = to_itself::nodes + to_memory::nodes + nodes_of<Activation> + 8;
    static constexpr int lower(builder& b, int x) {
        const int first = add_normed<to_itself, "norm1">(b, x), second = add_normed<to_memory, "norm2">(b, first);
        return add_normed<feed_forward, "norm3">(b, second);
    }

private:
    struct feed_forward {
        static constexpr auto linear1 = operators::joined<Name, "linear1">,
                              linear2 = operators::joined<Name, "linear2">;
        static constexpr int lower(builder& b, int x) {
            const int inner = b.linear(x, linear1.text, operators::at_least_one(FeedForward));
            return b.linear(sequential<Activation>::lower(b, inner), linear2.text, b.nodes[x].out.extents.channels);
        }
    };
    /// norm(x + Part(x)), or x + Part(norm(x)).
    template <class Part, fixed_string Norm> static constexpr int add_normed(builder& b, int x) {
        using behind = layer_norm<operators::joined<Name, Norm>, Options.norm>;
        if (Options.norm_first) return b.add(Part::lower(b, behind::lower(b, x)), x);
        return behind::lower(b, b.add(Part::lower(b, x), x));
    }
};

namespace operators {
template <class Places, fixed_string Name, int Heads, int FeedForward, class Memory, class Activation,
          encoder_options Options, class Mask, class MemoryMask>
struct decoder_layers;
template <int... I, fixed_string Name, int Heads, int FeedForward, class Memory, class Activation,
          encoder_options Options, class Mask, class MemoryMask>
struct decoder_layers<std::integer_sequence<int, I...>, Name, Heads, FeedForward, Memory, Activation, Options, Mask,
                      MemoryMask> : sequential<decoder_layer<joined<Name, "layers." + numeral<I>>, Heads, FeedForward,
                                                             Memory, Activation, Options, Mask, MemoryMask>...> {};
}  // namespace operators

/// PyTorch's TransformerDecoder without a last normalization: Layers of these, "name.layers.0.self_attn.in_proj_weight" and so on, all
/// over one memory and with the same masks. Put zp::layer_norm<"name.norm"> behind it where the state dict has one.
template <fixed_string Name, int Layers, int Heads, int FeedForward, class Memory, class Activation = relu,
          encoder_options Options = encoder_options{}, class Mask = void, class MemoryMask = void>
struct decoder : operators::decoder_layers<std::make_integer_sequence<int, operators::at_least_one(Layers)>, Name,
                                           Heads, FeedForward, Memory, Activation, Options, Mask, MemoryMask> {
    static_assert(Layers >= 1, "decoder<Name, Layers, Heads, FeedForward, Memory>: there is at least one layer");
};

}  // namespace zp::inline v0
