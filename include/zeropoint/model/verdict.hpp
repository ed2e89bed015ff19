// SPDX-License-Identifier: BSD-3-Clause
// One readable sentence for a broken rule, with the layer's name and the shapes beside it in the template arguments.
#pragma once

#include <type_traits>

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/graph/graph.hpp>

namespace zp::inline v0 {

/// What the user reads when a model breaks a rule; `Layer` is the name of the row, A and B the shapes that explain it.
template <rule Broken, fixed_string Layer, shape A, shape B> struct error_in_layer {
    static_assert(
        Broken != rule::duplicate_name,
        "two layers of this model have the same name (see Layer in error_in_layer<rule, Layer, ...>): layers "
        "share no parameters here, give one of them another name; of several inputs each has its own, "
        "zp::named<\"left\", zp::input<...>>, which no output has; a zp::input without one is named \"input\"");
    static_assert(Broken != rule::not_a_model,
                  "Net must be a model (see Layer in error_in_layer<rule, Layer, ...>): derive a struct from "
                  "zp::model<zp::input<...>, layers...>, or give it a static int `nodes` and a static "
                  "`lower(builder&)`; what takes a model takes no network of it, such as zp::float_model<Net>; and "
                  "where the compiler refused something in the list of layers, that is the mistake");
    static_assert(
        Broken != rule::branch_shapes_differ,
        "the branches that meet in this add, residual or concat have different shapes (see error_in_layer<rule, Layer, "
        "shape{height, width, channels, depth}, ...>): check stride, padding and out_channels of the branches; an add "
        "spreads extents of 1 alone");
    static_assert(Broken != rule::channels_not_divisible,
                  "the input channels and out_channels of this convolution must be divisible by groups (see "
                  "error_in_layer<rule, Layer, input shape, shape{1, 1, out_channels}>)");
    static_assert(Broken != rule::out_channels_missing,
                  "this layer needs at least one output: set .out_channels in zp::conv{...} (only a depthwise "
                  "convolution may leave it out)");
    static_assert(Broken != rule::empty_output,
                  "the window of this layer is larger than its padded input (see error_in_layer<rule, Layer, input "
                  "shape, output shape>): take a smaller kernel, or more padding");
    static_assert(Broken != rule::value_too_large,
                  "this layer gives more than 2147483647 values (see error_in_layer<rule, Layer, input shape, output "
                  "shape>), as attention over so many rows does: take smaller inputs, or fewer rows");
    static_assert(Broken != rule::linear_needs_flatten,
                  "this linear layer is given an image, not a vector or a sequence of vectors (see "
                  "error_in_layer<rule, Layer, input shape, "
                  "...>): put zp::flatten or zp::adaptive_avg_pool2d<1> in front of it");
    static_assert(Broken != rule::too_many_inputs, "a concat takes at most 8 inputs: nest two of them");
    static_assert(Broken != rule::too_many_nodes,
                  "this model's lower() appends more rows than its static member `nodes` says: raise `nodes`, it is an "
                  "upper bound");
    static_assert(Broken != rule::accumulator_overflow,
                  "this layer sums so many products that an int32 accumulator can overflow with these dtypes (see "
                  "error_in_layer<rule, Layer, input shape, output shape>): split its input channels, take a narrower "
                  "dtype, or leave it in float with zp::keep_float<\"name\">");
    static_assert(
        Broken != rule::no_quantized_form,
        "this layer has no quantized form (see Layer in error_in_layer<rule, Layer, ...>): leave it in float "
        "with zp::keep_float<\"name\"> in the qconfig; put a batch_norm right behind its conv2d or linear, which it is "
        "folded into, or take zp::unfused_batch_norm");
    static_assert(
        Broken != rule::no_input,
        "a model begins with its input: the first argument of zp::model must be a zp::input<Height, Width, "
        "Channels> or a zp::indices<Count>, the first row that a lower() of your own appends builder::input(shape)");
    static_assert(Broken != rule::window_not_positive,
                  "kernel, stride and dilation of this layer must be at least 1, and padding at least 0 (see Layer in "
                  "error_in_layer<rule, Layer, ...>)");
    static_assert(Broken != rule::padding_too_large,
                  "the padding of a pooling layer may be at most half of its kernel, else a window sees padding alone "
                  "(see error_in_layer<rule, Layer, input shape, shape{padding}>)");
    static_assert(Broken != rule::flattened_image,
                  "a flattened image, whose values stand pixel by pixel and in PyTorch channel by channel, may only be "
                  "read by a linear layer (see error_in_layer<rule, Layer, image shape, ...>): add, concatenate or "
                  "normalize the images first, and flatten behind that");
    static_assert(Broken != rule::unused_value,
                  "no layer reads the output of this one (see Layer in error_in_layer<rule, Layer, output shape, "
                  "...>): the last row is a model's only output, leave out what does not lead to it; of a model with "
                  "several outputs, mark each by zp::output<\"name\">");
    static_assert(
        Broken != rule::not_a_layer,
        "one of the layers of this model is none (see error_in_layer<rule, Layer, shape{1, 1, its place among the "
        "arguments}, ...>): a layer is a type with a static int `nodes` and `lower(builder&, int)`");
    static_assert(Broken != rule::no_layers,
                  "this model has an input and no layer: add one, its output is the model's");
    static_assert(
        Broken != rule::operand_types_differ,
        "what this layer reads and writes has activations of different dtypes, which no one kernel of it takes "
        "(see Layer in error_in_layer<rule, Layer, ...>): give it, and the layers in front of it, qconfigs "
        "with the same activation dtype, or put zp::requantize<\"name\"> where the dtype changes, with "
        "zp::for_layer<\"name\", ...> of the new one");
    static_assert(
        Broken != rule::no_int16_form,
        "this layer has no form over activations of 16 bits, which the layer in front of it gives (see Layer "
        "in error_in_layer<rule, Layer, ...>): leave it in float with zp::keep_float<\"name\"> in the qconfig, "
        "or give it a qconfig with zp::qint16 activations, under which it stays in float by itself");
    static_assert(Broken != rule::algorithm_does_not_fit,
                  "the algorithm that the qconfig names for this layer cannot compute its window and groups (see "
                  "error_in_layer<rule, Layer, input shape, output shape>): name another for it, or take zp::balanced, "
                  "zp::fastest or zp::smallest, which choose among those that can");
    static_assert(
        Broken != rule::image_expected,
        "this layer takes images, and is given a volume, whose planes it would not tell from rows (see "
        "error_in_layer<rule, Layer, input shape{height, width, channels, depth}, ...>): take a layer of three "
        "dimensions, such as max_pool3d, or put zp::flatten in front of a linear layer; a custom operator that "
        "reads all pixels alike says so with `static constexpr bool takes_volumes = true`");
    static_assert(Broken != rule::clamp_bounds,
                  "the lower bound of this clamp or hardtanh lies above its upper one (see Layer in "
                  "error_in_layer<rule, Layer, ...>): the first argument is the lower bound");
    static_assert(Broken != rule::operand_shapes,
                  "this operator cannot take inputs of these shapes (see error_in_layer<rule, Layer, first input, last "
                  "input>): its docstring says which fit together");
    static_assert(Broken != rule::input_shape,
                  "this operator takes an input of another shape (see error_in_layer<rule, Layer, the shape that "
                  "came, the shape that it is for>): change its options, or what stands in front of it");
    static_assert(Broken != rule::sequence_expected,
                  "this layer runs along a sequence, 1 x length x channels, and is given an image (see "
                  "error_in_layer<rule, Layer, input shape, ...>): take the layer of two dimensions, or reshape in "
                  "front of it");
    static_assert(Broken != rule::conv_transpose_options,
                  "these options do not fit the input of this transposed convolution (see error_in_layer<rule, Layer, "
                  "input shape, output shape>): kernel, stride and dilation must be at least 1, padding at least 0, "
                  "output_padding smaller than stride or dilation, and padding must leave something of the output");
    static_assert(
        Broken != rule::cannot_stream,
        "zp::streaming cannot run this layer step by step (see error_in_layer<rule, Layer, input shape, "
        "output shape>): it "
        "takes conv1d, conv_transpose1d, max_pool1d, avg_pool1d without padding of its own (put a zp::zero_pad2d in "
        "front), recurrent layers that go forward and give all steps, linear, embedding, functions of one value, add, "
        "concat, operators of two values, softmax and norms over the channels; what pools or reduces the whole "
        "sequence "
        "has no steps; a dynamic conv1d has one range for all steps, keep it float");
    static_assert(
        Broken != rule::stream_looks_ahead,
        "zp::streaming cannot run this layer step by step (see error_in_layer<rule, Layer, input shape, "
        "output shape>): its window reads steps that are yet to come: give it zeros in front, by its padding or a "
        "zp::zero_pad2d on the left, at least (kernel - 1) * dilation + 1 - stride of them; a conv_transpose1d takes "
        "padding 0");
    static_assert(
        Broken != rule::state_goes_back,
        "zp::stateful and zp::calibrate_sequences cannot go on from call to call with this layer (see "
        "error_in_layer<rule, Layer, input shape, output shape>): it runs in both directions, and the way back begins "
        "where a sequence ends: take a layer that goes forward");
    static_assert(Broken != rule::no_state,
                  "zp::stateful and zp::calibrate_sequences: this model has no layer with a state, such as zp::lstm, "
                  "zp::gru or zp::svdf, that could go on from call to call: call the network itself");
    static_assert(
        Broken != rule::indices_read,
        "this layer takes floats, and is given the indices that go into the model (see error_in_layer<rule, "
        "Layer, shape{1, indices, 1}, ...>): put a zp::embedding in front of it, or of a mask a zp::attention_mask");
    static_assert(Broken != rule::indices_expected,
                  "this layer is given floats, and takes indices (see error_in_layer<rule, Layer, input shape, "
                  "...>): an embedding, or a zp::attention_mask, is the first layer behind a zp::indices<Count>");
    static_assert(Broken != rule::name_missing,
                  "this operator has parameters, which a file finds by its name, and no name (see error_in_layer<rule, "
                  "Layer, input shape, ...>): give it one");
};

/// A zp::from without a value.
template <fixed_string Name, fixed_string Nearest> struct no_value_named {
    static_assert(sizeof(Name) == 0,
                  "a zp::from goes on from a value that is not there (see no_value_named<its name, the nearest name "
                  "that there is>): its name must be that of an input or a layer in front of it");
};

template <class Source>
inline constexpr row_text culprit = [] {
    constexpr const diagnostic& error = Source::table.error;
    if constexpr (error.name != nullptr) return text_of_row(error.name, error.number);
    else if constexpr (error.row < 0 || error.row >= Source::table.size) return row_text();
    else return text_of_row(Source::table.nodes[error.row], error.row);
}();
template <class Source>
inline constexpr row_text near_culprit = [] {
    row_text text;
    if constexpr (Source::table.error.nearest != nullptr) text.add(Source::table.error.nearest);
    return text;
}();
template <const row_text& Text> inline constexpr auto exact_text = exact<Text.size>(Text.text);

/// Instantiating this class prints the sentence and nothing else: no value depends on it, so nothing fails after it.
/// (From inside a constexpr function the failure would spread to every use of that function.)
template <class Source>
struct verdict : std::conditional_t<Source::table.error.broken == rule::unknown_name,
                                    no_value_named<exact_text<culprit<Source>>, exact_text<near_culprit<Source>>>,
                                    error_in_layer<Source::table.error.broken, exact_text<culprit<Source>>,
                                                   Source::table.error.a, Source::table.error.b>> {};
/// Of rows that a stage makes of a model. Of a broken model the verdict is the source's.
template <class Source, class Rows> using verdict_behind = verdict<std::conditional_t<Source::is_valid, Rows, Source>>;

template <fixed_string Name, class Net> struct layer_fused_away {
    static_assert(sizeof(Net) == 0,
                  "a qconfig cannot speak of this layer: it is fused into the one in front of it, or does nothing at "
                  "inference (see layer_fused_away<Name, Model>): name that one");
};

template <fixed_string Name, class Net> struct layer_has_no_algorithm {
    static_assert(
        sizeof(Net) == 0,
        "a qconfig chooses an algorithm for this layer, which has none to choose: it is no convolution or linear "
        "layer, or stays in float32 (see layer_has_no_algorithm<Name, Model>): leave the option out");
};

template <fixed_string Name, class Net> struct layer_takes_no_integer_weights {
    static_assert(sizeof(Net) == 0,
                  "a dynamic or weight_only of this qconfig names a layer that has no such form (see "
                  "layer_takes_no_integer_weights<Name, Model>): dynamic takes linear and recurrent layers and "
                  "convolutions of one group, weight_only linear and recurrent layers; of a model with stubs those "
                  "between them");
};

template <fixed_string Name, fixed_string Nearest, class Net> struct no_layer_named {
    static_assert(sizeof(Net) == 0,
                  "this model has no layer of that name (see no_layer_named<Name, the nearest name that there is, "
                  "Model>): names are those of its layers' parameters, such as \"conv1\", or of others what tables and "
                  "reports call them, such as \"add_7\"");
};

}  // namespace zp::inline v0
