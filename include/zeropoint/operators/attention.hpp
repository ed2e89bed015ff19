// SPDX-License-Identifier: BSD-3-Clause
// Self-attention and transformer encoders as layers of a model, made of linear, matmul and softmax rows.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/float/float_elementwise.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/attention_products.hpp>
#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/operators/layer_norm.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/masked_softmax.hpp>
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/operators/permute.hpp>
#include <zeropoint/operators/softmax.hpp>

namespace zp::inline v0 {
namespace operators {

/// 1 x length x channels to heads x length x channels / heads: a matrix a head.
template <int Heads> struct split_heads : rearrangement<split_heads<Heads>> {
    static constexpr const char* kind = "split_heads";
    static constexpr int options[] = {Heads};
    static constexpr bool accepts(shape x) { return x.height == 1 && x.channels % Heads == 0; }
    static constexpr shape output_shape(shape x) { return {Heads, x.width, x.channels / Heads}; }
    static constexpr kernel::box_copy copy(const shape& x) {
        const int width = x.channels / Heads;
        return kernel::box_copy{}
            .along(Heads, width, x.width * width)
            .along(x.width, x.channels, width)
            .along(width, 1, 1);
    }
};
/// And back.
struct merge_heads : rearrangement<merge_heads> {
    static constexpr const char* kind = "merge_heads";
    static constexpr bool contract(const node* nodes, int i, node& whole) {
        return contract_attention(nodes, i, whole);
    }
    static constexpr shape output_shape(shape x) { return {1, x.width, x.height * x.channels}; }
    static constexpr kernel::box_copy copy(const shape& x) {
        const int width = x.channels, all = x.height * width;
        return kernel::box_copy{}.along(x.width, width, all).along(x.height, x.width * width, width).along(width, 1, 1);
    }
};

/// x / sqrt(channels), the queries of a head: in int8 a change of the scale alone.
struct divide_by_root {
    static constexpr const char* kind = "divide_by_root";
    static constexpr qparams_source range = qparams_source::derived;
    static constexpr bool elementwise = true, moves_nothing = true;

    static float factor(const shape& x) { return 1.0f / std::sqrt(static_cast<float>(x.channels)); }
    static constexpr shape output_shape(shape x) { return x; }
    static qparams derive(const node_view& v, const qparams& x) {
        return {x.scale * factor(v.x_shape()), x.zero_point};
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        const float by = factor(o.x_shape());
        kernel::map_floats<Arch>(o.x(), static_cast<std::size_t>(o.y_shape().size()), o.y(),
                                 [=](const auto& x) { return x * std::decay_t<decltype(x)>(by); });
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        if (o.y() != o.x()) std::memcpy(o.y(), o.x(), static_cast<std::size_t>(o.y_shape().size()));
    }
};

/// "outer.inner", or "inner" where there is no outer name.
template <fixed_string Outer, fixed_string Inner>
inline constexpr auto joined = [] {
    if constexpr (Outer.view().empty()) return Inner;
    else return Outer + "." + Inner;
}();

template <class Operator, const operator_kind& Kind> constexpr int append_one(builder& b, int x) {
    return append_operator<Kind, Operator>(b, {&x, 1});
}

/// Softmax of scores, of a matrix a head, where Mask is void over all columns.
template <class Mask> struct softmax_of_scores {
    static constexpr int nodes = 1 + nodes_of<Mask>;
    static constexpr int lower(auto& b, int scores, int x) {
        const int masked[] = {scores, sequential<Mask>::lower(b, x)};
        return append_operator<op::softmax, masked_softmax>(b, masked);
    }
};
template <> struct softmax_of_scores<void> {
    static constexpr int nodes = 1;
    static constexpr int lower(auto& b, int scores, int) { return append_one<softmax, op::softmax>(b, scores); }
};

/// Attention between its projections, over rows that are there already. The type of b depends on nothing: were it not a template's, the
/// forms of these rows would be instantiated wherever this is included.
template <int Heads, class Mask> struct attention_of_rows {
    static constexpr int nodes = 7 + softmax_of_scores<Mask>::nodes;
    static constexpr int lower(auto& b, int queries, int keys, int values, int x) {
        const int q = append_one<divide_by_root, op::mul_scalar>(b, split(b, queries));
        const int qk[] = {q, split(b, keys)}, v = split(b, values);
        const int scores = append_operator<op::matmul, matmul<true>>(b, qk);
        const int weighted[] = {softmax_of_scores<Mask>::lower(b, scores, x), v};
        return append_one<merge_heads, op::permute>(b, append_operator<op::matmul, matmul<false>>(b, weighted));
    }

private:
    static constexpr int split(builder& b, int x) {
        return append_one<split_heads<at_least_one(Heads)>, op::permute>(b, x);
    }
};

}  // namespace operators

/// Attention of Queries(x) to Keys(x) and Values(x), 1 x length x channels each, by heads that lie side by side in the channels:
///     softmax(Q K^T / sqrt(channels / Heads)) V            a matrix a head
/// Keys and values have as many rows, which may be others than the queries', and queries and keys as many channels. It has no
/// parameters: those are of the branches, for one
///     zp::attention<4, zp::linear<"query", 64>, zp::linear<"key", 64>, zp::linear<"value", 64>>
/// A factor of scores beside that is a zp::mul_scalar behind the queries, and changes no code in int8. quantize_dynamic makes one row of
/// all that. Behind a projection of all three it is `zp::attention<4, zp::chunk<0, 3>, zp::chunk<1, 3>, zp::chunk<2, 3>>`. Mask is that of
/// zp::self_attention, which has projections under PyTorch's names.
template <int Heads, class Queries, class Keys, class Values, class Mask = void> struct attention {
    static_assert(Heads >= 1,
                  "attention<Heads, Queries, Keys, Values>: Heads must be at least 1, and divide the channels");
    /// What stands behind the projections.
    using rows = operators::attention_of_rows<Heads, Mask>;
    static constexpr int nodes = nodes_of<Queries> + nodes_of<Keys> + nodes_of<Values> + rows::nodes;
    static constexpr int lower(builder& b, int x) {
        const int queries = sequential<Queries>::lower(b, x), keys = sequential<Keys>::lower(b, x);
        return rows::lower(b, queries, keys, sequential<Values>::lower(b, x), x);
    }
};

namespace operators {

/// PyTorch's MultiheadAttention from queries to keys and values, 1 x length x channels each: its four linear layers and what is between.
/// The parts of in_proj have as many inputs as outputs, all of them as many.
template <fixed_string Name, int Heads, with_bias Bias, class Mask> struct projected_attention {
    static constexpr int nodes = 11 + softmax_of_scores<Mask>::nodes;
    /// The mask is that of x.
    static constexpr int lower(auto& b, int queries, int memory, int x) {  // as above
        const shape of_queries = b.nodes[queries].out.extents, of_memory = b.nodes[memory].out.extents;
        if (of_queries.channels != of_memory.channels) b.fail(rule::operand_shapes, of_queries, of_memory);
        const int channels = of_queries.channels;
        const char* names[] = {query.text, key.text, value.text};
        int heads[3] = {};
        for (std::int8_t part = 0; part != 3; ++part) {
            const int projected =
                b.linear_part(part == 0 ? queries : memory, names[part], channels, has_bias, {in_proj.text, part, 3});
            heads[part] = append_one<split_heads<at_least_one(Heads)>, op::permute>(b, projected);
            if (part == 0) heads[part] = append_one<divide_by_root, op::mul_scalar>(b, heads[part]);
        }
        const int scores = append_operator<op::matmul, matmul<true>>(b, std::span<const int>(heads, 2));
        const int weighted[] = {softmax_of_scores<Mask>::lower(b, scores, x), heads[2]};
        const int context = append_operator<op::matmul, matmul<false>>(b, weighted);
        return b.linear(append_one<merge_heads, op::permute>(b, context), out_proj.text, channels, has_bias);
    }

private:
    static constexpr bool has_bias = Bias == with_bias::yes;
    static constexpr auto query = joined<Name, "query">, key = joined<Name, "key">, value = joined<Name, "value">,
                          in_proj = joined<Name, "in_proj">, out_proj = joined<Name, "out_proj">;
};

}  // namespace operators

/// PyTorch's MultiheadAttention of a sequence to itself, 1 x length x channels, which Heads must divide:
///     out_proj(softmax(Q K^T / sqrt(channels / Heads)) V)            a matrix a head
/// Parameters "name.in_proj_weight" (3 * channels x channels), "name.in_proj_bias", "name.out_proj.weight",
/// "name.out_proj.bias". Rows of their own, which a qconfig names: "name.query", "name.key", "name.value" and
/// "name.out_proj" are linear layers, each with a scale; between them are matmul and softmax, in int8 as those are.
/// quantize_dynamic takes the four linear layers. With a Mask, such as zp::from<"mask">, keys are left out where it is 0: see
/// zp::masked_softmax. (PyTorch's module has it the other way round: its key_padding_mask, and its attn_mask of booleans, are
/// true where a key is left out.)
template <fixed_string Name, int Heads, with_bias Bias = with_bias::yes, class Mask = void> struct self_attention {
    static_assert(Heads >= 1, "self_attention<Name, Heads>: Heads must be at least 1, and divide the channels");
    static constexpr int nodes = operators::projected_attention<Name, Heads, Bias, Mask>::nodes;
    static constexpr int lower(builder& b, int x) {
        return operators::projected_attention<Name, Heads, Bias, Mask>::lower(b, x, x, x);
    }
};

/// PyTorch's MultiheadAttention of a sequence to another one, Memory(x), such as zp::from<"memory">: queries are of x, keys and
/// values of that, which may be longer or shorter and has as many channels. All else is as in zp::self_attention; columns of the
/// Mask are rows of Memory(x). Where keys or values have other channels (PyTorch's kdim and vdim) there is zp::attention.
template <fixed_string Name, int Heads, class Memory, with_bias Bias = with_bias::yes, class Mask = void>
struct cross_attention {
    static_assert(Heads >= 1,
                  "cross_attention<Name, Heads, Memory>: Heads must be at least 1, and divide the channels");
    static constexpr int nodes = nodes_of<Memory> + operators::projected_attention<Name, Heads, Bias, Mask>::nodes;
    static constexpr int lower(builder& b, int x) {
        return operators::projected_attention<Name, Heads, Bias, Mask>::lower(b, x, sequential<Memory>::lower(b, x), x);
    }
};

/// Options of an encoder layer, PyTorch's norm_first and layer_norm_eps.
struct encoder_options {
    bool norm_first = false;    // norms in front of attention and of the linear layers, not behind the sums
    layer_norm_options norm{};  // of both norms
};

/// PyTorch's TransformerEncoderLayer in inference over a sequence of 1 x length x channels, with FeedForward values between
/// its two linear layers and an activation such as zp::relu or zp::gelu:
///     x = norm1(x + self_attn(x)), y = norm2(x + linear2(activation(linear1(x))))           norm_first = false
///     x = x + self_attn(norm1(x)), y = x + linear2(activation(linear1(norm2(x))))           norm_first = true
/// under its parameter names: "name.self_attn.in_proj_weight", ..., "name.linear1.weight", ..., "name.norm2.bias". Mask is that of
/// zp::self_attention.
template <fixed_string Name, int Heads, int FeedForward, class Activation = relu,
          encoder_options Options = encoder_options{}, class Mask = void>
struct encoder_layer {
    static_assert(FeedForward >= 1, "encoder_layer<Name, Heads, FeedForward>: FeedForward must be at least 1");
    /// The attention of the layer.
    using attention = self_attention<operators::joined<Name, "self_attn">, Heads, with_bias::yes, Mask>;
    static constexpr int nodes = attention::nodes + nodes_of<Activation> + 6;
    static constexpr int lower(builder& b, int x) {
        const int first = b.add(attention::lower(b, Options.norm_first ? norm1::lower(b, x) : x), x);
        const int middle = Options.norm_first ? first : norm1::lower(b, first);
        const int inner = b.linear(Options.norm_first ? norm2::lower(b, middle) : middle, linear1.text,
                                   operators::at_least_one(FeedForward));
        const int channels = b.nodes[x].out.extents.channels;
        const int second = b.linear(sequential<Activation>::lower(b, inner), linear2.text, channels);
        const int sum = b.add(second, middle);
        return Options.norm_first ? sum : norm2::lower(b, sum);
    }

private:
    static constexpr auto linear1 = operators::joined<Name, "linear1">, linear2 = operators::joined<Name, "linear2">;
    using norm1 = layer_norm<operators::joined<Name, "norm1">, Options.norm>;
    using norm2 = layer_norm<operators::joined<Name, "norm2">, Options.norm>;
};

namespace operators {
template <class Places, fixed_string Name, int Heads, int FeedForward, class Activation, encoder_options Options,
          class Mask>
struct encoder_layers;
template <int... I, fixed_string Name, int Heads, int FeedForward, class Activation, encoder_options Options,
          class Mask>
struct encoder_layers<std::integer_sequence<int, I...>, Name, Heads, FeedForward, Activation, Options, Mask>
    : sequential<
          encoder_layer<joined<Name, "layers." + numeral<I>>, Heads, FeedForward, Activation, Options, Mask>...> {};
}  // namespace operators

/// PyTorch's TransformerEncoder without a last normalization: Layers of these, "name.layers.0.self_attn.in_proj_weight" and
/// so on. Put zp::layer_norm<"name.norm"> behind it where the state dict has one. Mask is that of zp::self_attention, for all.
template <fixed_string Name, int Layers, int Heads, int FeedForward, class Activation = relu,
          encoder_options Options = encoder_options{}, class Mask = void>
struct encoder : operators::encoder_layers<std::make_integer_sequence<int, operators::at_least_one(Layers)>, Name,
                                           Heads, FeedForward, Activation, Options, Mask> {
    static_assert(Layers >= 1, "encoder<Name, Layers, Heads, FeedForward>: there is at least one layer");
};

}  // namespace zp::inline v0
