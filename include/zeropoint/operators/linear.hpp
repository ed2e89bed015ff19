// SPDX-License-Identifier: BSD-3-Clause
// linear: a product with a matrix, over a vector or over each of the vectors of a sequence.
#pragma once

#include <zeropoint/graph/define.hpp>
#include <zeropoint/operators/matrix.hpp>
#include <zeropoint/operators/tap_sums.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind linear{"linear", true};
}
namespace operators {

/// A 1x1 convolution over one row of pixels. Its input may be an image, where fusing has removed a flatten.
constexpr kernel::conv2d_geometry geometry_of_linear(const node_view& v) {
    const int rows = v.y_shape().width;
    kernel::conv2d_geometry g;
    g.in = {1, rows, v.n.weights.count / v.n.weights.channels};
    g.out = {1, rows, v.n.weights.channels};
    return g;
}
/// The weight of a file is outputs x inputs; of a flattened image its columns stand channel by channel there, and pixel by
/// pixel inside.
constexpr parameter_list parameters_of_linear(const node_view& v) {
    const int outputs = v.n.weights.channels, inputs = v.n.weights.count / outputs;
    const value_type& x = v.x_type();
    const shape image = x.flattened.size() == inputs ? x.flattened : x.extents;
    parameter_array weight{"weight", 2, {outputs, inputs, 1, 1, 1}};
    if (image.size() == inputs && image.pixels() > 1)
        weight.order = transposed_order(outputs, image.channels, image.pixels());
    return filters_and_bias(v, weight);
}
inline constexpr operator_info linear_info = [] {
    operator_info info = make_filters(op::linear, filter_kernels::conv2d, {});
    info.stream = stream_rule::pointwise;
    info.is_connected = info.has_int16 = info.has_weight_only = true;
    info.parameters = &parameters_of_linear;
    info.geometry = &geometry_of_linear;
    return info;
}();
/// The same whose weight is inputs x outputs in files, over vectors.
inline constexpr operator_info linear_by_inputs_info = [] {
    operator_info info = linear_info;
    info.parameters = [](const node_view& v) -> parameter_list {
        const int outputs = v.n.weights.channels, inputs = v.n.weights.count / outputs;
        return filters_and_bias(
            v,
            {"weight", 2, {inputs, outputs, 1, 1, 1}, parameter_role::filters, transposed_order(1, inputs, outputs)});
    };
    return info;
}();
/// The same without a bias, whose weight is Tensor in state dicts, which an earlier row has too.
template <fixed_string Tensor>
inline constexpr operator_info tied_linear_info = [] {
    operator_info info = linear_info;
    info.parameters = [](const node_view& v) -> parameter_list {
        parameter_list list = parameters_of_linear(v);
        list.arrays[0].tied_to = Tensor.text;
        list.unread = "weight";
        return list;
    };
    return info;
}();
inline constexpr operator_rules linear_rules = make_filter_rules(&macs_of_outputs, tap_sums_of_windows);

}  // namespace operators

template <> struct forms_of<op::linear> : operators::matrix_forms {};

/// Over a vector, or over each of the vectors of a sequence of 1 x length x channels.
constexpr int builder::linear(int x, const char* name, int outputs, bool bias) {
    return linear_part(x, name, outputs, bias, {});
}
/// A linear layer whose weight and bias are part `part.part` of `part.parts` of the tensors "part.name_weight" and
/// "part.name_bias": outputs of all parts one after another. Parts are appended in order.
constexpr int builder::linear_part(int x, const char* name, int outputs, bool bias, const packed_tensor& part) {
    node n = unary(operators::linear_info, operators::linear_rules, x, name);
    const shape in = n.out.extents;
    if (in.height != 1) fail(rule::linear_needs_flatten, in);
    if (outputs <= 0) fail(rule::out_channels_missing, in);
    n.out.extents = {1, in.width, outputs};
    n.weights.channels = outputs;
    n.weights.has_bias = bias;
    n.weights.count = outputs * in.channels;
    n.part = part;
    return append(n);
}

/// Whether a layer has a "name.bias".
enum class with_bias : bool { no, yes };

/// Fully connected over a vector of 1 x 1 x K, or over each of the vectors of a sequence, 1 x length x K; put zp::flatten
/// in front of an image.
template <fixed_string Name, int Outputs, with_bias Bias = with_bias::yes> struct linear {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) { return b.linear(x, Name.text, Outputs, Bias == with_bias::yes); }
};

/// The same with its weight as inputs x outputs in files, as Hugging Face's GPT-2 has it ("Conv1D"). In memory it is a linear layer.
template <fixed_string Name, int Outputs, with_bias Bias = with_bias::yes> struct linear_by_inputs {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        if (b.nodes[x].out.is_flattened_image()) b.fail(rule::flattened_image, b.nodes[x].out.flattened);
        const int made = b.linear(x, Name.text, Outputs, Bias == with_bias::yes);
        b.nodes[made].op = &operators::linear_by_inputs_info;
        return made;
    }
};

/// A linear layer without a bias whose weight is another layer's in state dicts, outputs x inputs: the scores of a language model, which
/// are products with the table of its embedding (`tie_word_embeddings`). `zp::tied_linear<"lm_head", 32000, "model.embed_tokens.weight">`
/// behind `zp::embedding<"model.embed_tokens", 32000, 2048>`. A state dict that has "lm_head.weight" too must have the same values there,
/// else loading raises file_error; saved ones have Tensor alone, and saving raises value_error where both are no longer equal. In memory
/// and in files of quantized networks it is a weight of its own.
template <fixed_string Name, int Outputs, fixed_string Tensor> struct tied_linear {
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        if (b.nodes[x].out.is_flattened_image()) b.fail(rule::flattened_image, b.nodes[x].out.flattened);
        const int made = b.linear(x, Name.text, Outputs, false);
        b.nodes[made].op = &operators::tied_linear_info<Tensor>;
        return made;
    }
};

}  // namespace zp::inline v0
