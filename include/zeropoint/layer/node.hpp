// One row of the graph: an operator, where its inputs come from, its extents, and where its data lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/conv3d_geometry.hpp>
#include <zeropoint/kernel/transposed_geometry.hpp>
#include <zeropoint/kernel/transposed_volume_geometry.hpp>

namespace zp {
inline namespace v0 {

// clang-format off
enum class op : std::uint8_t {
    none, input, conv2d, conv3d, conv_transpose2d, conv_transpose3d, linear, batch_norm, relu, relu6, leaky_relu, sigmoid, tanh, hardswish, add, concat,
    max_pool2d, avg_pool2d, adaptive_avg_pool2d, flatten, dropout, quant_stub, dequant_stub, quantize, dequantize,
    requantize, custom, clamp, activation,
    // Described operators (layer/operator_description.hpp): no pass and no kernel table knows their names.
    normalize, mul_scalar, mul, sub, div, maximum, minimum, squared_difference, prelu, mean, sum, softmax, log_softmax,
    layer_norm, group_norm, instance_norm, max_pool3d, avg_pool3d, adaptive_avg_pool3d, matmul, slice, permute, reshape,
    pad, pixel_shuffle, pixel_unshuffle, unfused_batch_norm, channel_shuffle, gather, expand, flip, roll, stack,
    interpolate, argmax, where, equal, not_equal, less, less_equal, greater, greater_equal, reduce_max, reduce_min,
    reduce_prod, variance, standard_deviation, l2_normalization, tile, sort, requantize_to, lstm, gru, gather_nd, scatter_nd,
    space_to_batch, batch_to_space, full_like, embedding, position_embedding
};

constexpr const char* name_of(op kind) {
    constexpr const char* names[] = {
        "none", "input", "conv2d", "conv3d", "conv_transpose2d", "conv_transpose3d", "linear", "batch_norm", "relu", "relu6", "leaky_relu", "sigmoid", "tanh", "hardswish", "add",
        "concat", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "flatten", "dropout", "quant_stub", "dequant_stub",
        "quantize", "dequantize", "requantize", "custom", "clamp", "activation", "normalize", "mul_scalar", "mul", "sub",
        "div", "maximum", "minimum", "squared_difference", "prelu", "mean", "sum", "softmax", "log_softmax", "layer_norm",
        "group_norm", "instance_norm", "max_pool3d", "avg_pool3d", "adaptive_avg_pool3d", "matmul", "slice", "permute",
        "reshape", "pad", "pixel_shuffle",
        "pixel_unshuffle", "unfused_batch_norm", "channel_shuffle", "gather", "expand", "flip", "roll", "stack",
        "interpolate", "argmax", "where", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
        "reduce_max", "reduce_min", "reduce_prod", "variance", "standard_deviation", "l2_normalization", "tile", "sort",
        "requantize_to", "lstm", "gru", "gather_nd", "scatter_nd", "space_to_batch", "batch_to_space", "full_like",
        "embedding", "position_embedding"};
    return names[static_cast<int>(kind)];
}
// clang-format on

/// Weights of their own, folded, fused and packed: the layers that a multiply-accumulate kernel runs.
constexpr bool is_weighted(op kind) {
    return kind == op::conv2d || kind == op::conv3d || kind == op::conv_transpose2d || kind == op::conv_transpose3d ||
           kind == op::linear;
}
/// Activations that a requantization can do by clamping.
constexpr bool is_clamp(op kind) { return kind == op::relu || kind == op::relu6 || kind == op::clamp; }
/// Activations that are a table on 8 bits: of 256 entries on their own, of more where they are fused into a weighted row.
constexpr bool is_table(op kind) {
    return kind == op::leaky_relu || kind == op::sigmoid || kind == op::tanh || kind == op::hardswish ||
           kind == op::activation;
}
/// Does nothing at inference: the fuse pass removes it.
constexpr bool is_identity(op kind) {
    return kind == op::dropout || kind == op::quant_stub || kind == op::dequant_stub;
}
using kernel::conv2d_algorithm;

/// What the algorithm of a convolution or linear layer is chosen for.
enum class algorithm_goal : std::uint8_t {
    balanced,  ///< little time, where bytes of packed weights cost what reading them takes: zp::balanced, the default
    fastest,   ///< little time, whatever the weights take
    smallest,  ///< few bytes of packed weights, at nearly any price in time
    named      ///< the one that the policy names
};

/// How the algorithm of a layer is chosen: zp::balanced, zp::fastest, zp::smallest, or one by name, such as
/// zp::conv2d_algorithm::implicit_gemm. All give the same integers and the same files.
struct algorithm_policy {
    algorithm_goal goal = algorithm_goal::balanced;
    conv2d_algorithm algorithm = conv2d_algorithm::automatic;  // where goal is named

    constexpr algorithm_policy() = default;
    constexpr algorithm_policy(algorithm_goal why) : goal(why) {}  // NOLINT(google-explicit-constructor)
    constexpr algorithm_policy(conv2d_algorithm name)              // NOLINT(google-explicit-constructor)
        : goal(name == conv2d_algorithm::automatic ? algorithm_goal::balanced : algorithm_goal::named),
          algorithm(name) {}
    constexpr bool operator==(const algorithm_policy&) const = default;
};
inline constexpr algorithm_policy balanced{algorithm_goal::balanced};
inline constexpr algorithm_policy fastest{algorithm_goal::fastest};
inline constexpr algorithm_policy smallest{algorithm_goal::smallest};

constexpr const char* name_of(algorithm_goal goal) {
    constexpr const char* names[] = {"balanced", "fastest", "smallest", "named"};
    return names[static_cast<int>(goal)];
}

inline constexpr int max_inputs = 8;
inline constexpr int in_user_input = -1, in_user_output = -2;  // values of arena_offset

struct operator_description;
struct operator_steps;

/// A function of one value: of sigmoid, tanh, hardswish and leaky_relu rows, and of any that the user gives. Made by
/// function_of (layer/activation_function.hpp) from a callable type.
struct activation_function {
    const char* kind;                            // its name, for people and for the signature
    std::span<const float> constants;            // what tells it from others of that name
    float output_min = 0, output_max = 0;        // its range, where that is known beforehand; else equal
    double (*value)(double x, float parameter);  // for tables
    void (*apply)(const float* x, std::size_t count, float* y, float parameter);  // in float stages; y may be x

    constexpr bool has_known_range() const { return output_min < output_max; }
};

/// The window of a conv3d along depth.
struct depth_window {
    int kernel = 1, stride = 1, padding = 0, dilation = 1;
};

/// A row of the table that every stage of a model owns as a static constexpr member. Rows stand in execution order.
struct node {
    op kind = op::none;
    op activation = op::none;                 // fused into this row; a clamp, or after convert also a table
    scalar_type type = scalar_type::float32;  // of the output
    scalar_type weight_type = scalar_type::float32;
    bool bias = false;                    // weighted rows: the state dict has one
    bool affine = true;                   // batch_norm: has weight and bias
    bool affine_weights = false;          // quantized weights have zero points
    bool word_weights = false;            // quantized weights are packed in 16 bits each: see takes_words
    bool wide_input = false;              // quantized: reads codes of 16 bits
    bool count_include_pad = true;        // avg_pool2d
    bool one_dimensional = false;         // conv1d, conv_transpose1d: the weight has no height in files
    bool keep_float = false;              // stays float32 through convert
    bool outside_stubs = false;           // not between a quant_stub and a dequant_stub of a model that has such
    bool dynamic = false;                 // int8 weights, and activations that are quantized in each call
    bool keeps_state = false;             // recurrent rows of a stream: goes on from where the call before ended
    bool observed = false;                // prepared: its output feeds the observer of its slot
    bool unshared = false;                // a requantize that files of shared ranges lack: see model/shared_ranges.hpp
    std::uint8_t requantized_inputs = 0;  // concat: bit k where input k has another slot, and a table brings it here
    std::int8_t input_count = 0;
    std::int8_t config = 0;  // which entry of the qconfig applies
    short inputs[max_inputs] = {};
    shape in, out;
    shape flattened{0, 0, 0};  // height x width x channels before a flatten; of a linear's input, else of the output
    kernel::conv2d_geometry window;  // conv2d, linear and pooling; transposed ones: see transposed_window
    depth_window
        depth;  // conv3d, conv_transpose3d: the window along depth; see volume_window, transposed_volume_window
    float parameter = 0;            // negative_slope of leaky_relu, epsilon of batch_norm
    float lowest = 0, highest = 0;  // clamp, of its own or fused: the bounds
    const char* name = "";
    const char* file_name =
        nullptr;  // weighted rows whose parameters are part of tensors "file_name_weight" and so on:
    std::int8_t part = 0, parts = 1;                  // which, and of how many; see builder::linear_part
    const operator_description* described = nullptr;  // what a described operator is,
    const operator_steps* steps = nullptr;            // and its functions; not in the table of an int8 stage
    const activation_function* function = nullptr;    // rows that are a table, or have one fused
    short origin = -1, folded = -1;  // rows of the stage before: the row itself, the batch_norm folded into it,
    short normalized = -1;           // and the normalize in front of it
    short sum_origin = -1;           // quantized: row of the stage before whose sum with a residual is computed here,
    short table_origin = -1;         // and row whose activation the table computes
    short slot = -1;                 // scale and zero point (and observer) of the output
    short table_slot = -1;           // of the value before a fused table
    std::int8_t table_bits = 8;      // and how many bits choose its entry: see fused_table.hpp
    std::int32_t quant_min = 0, quant_max = 0;  // range of the output's codes
    std::int32_t weight_min = 0, weight_max = 0;
    int weights = 0, channels = 0;                             // how many weights, how many output channels
    algorithm_policy policy;                                   // quantized weighted rows: what the user asked for,
    conv2d_algorithm algorithm = conv2d_algorithm::automatic;  // and what computes it
    int parameter_offset = 0, parameter_bytes = 0;             // in the parameter block, bytes
    int arena_offset = 0;                                      // of the output, bytes; or in_user_input, in_user_output
    int scratch_offset = 0, scratch_bytes = 0;                 // working memory of this row alone, in the same arena

    /// The input of a model of indices: integers that choose rows of tables. It has no slot.
    constexpr bool is_indices() const { return kind == op::input && type == scalar_type::int32; }
    /// A linear row whose input vector is an image that was flattened.
    constexpr bool flattened_columns() const { return flattened.size() == in.channels; }
    /// An output whose values stand pixel by pixel, where PyTorch's flatten has them channel by channel.
    constexpr bool flattened_image() const {
        return kind != op::linear && flattened.size() == out.size() && flattened.pixels() > 1 && flattened.channels > 1;
    }
};

/// Rows whose block is a 256-entry table: activations of their own, and the rescaling in front of a concat.
constexpr bool is_table_row(const node& row) {
    if (row.wide_input || row.type == scalar_type::int16) return false;  // see is_wide_table_row
    return row.type != scalar_type::float32 && (is_table(row.kind) || row.kind == op::requantize);
}

/// What a conv_transpose2d row computes: its window holds the same numbers under the same names.
constexpr kernel::conv_transpose2d_geometry transposed_window(const node& row) {
    return kernel::as_transposed(row.window);
}
/// What a conv_transpose3d row computes. Its window holds the numbers of a plane.
constexpr kernel::conv_transpose3d_geometry transposed_volume_window(const node& row) {
    return {kernel::as_transposed(row.window),
            row.in.depth,
            row.out.depth,
            row.depth.kernel,
            row.depth.stride,
            row.depth.padding,
            row.depth.dilation};
}

/// What a conv3d row computes. Its window is that of one output plane, the planes under it being channels of one image:
/// conv3d_geometry::stacked().
constexpr kernel::conv3d_geometry volume_window(const node& row) {
    kernel::conv3d_geometry g;
    g.plane = row.window;
    g.plane.in.channels = row.in.channels;
    g.in_depth = row.in.depth;
    g.out_depth = row.out.depth;
    g.kernel_depth = row.depth.kernel;
    g.stride_depth = row.depth.stride;
    g.padding_front = row.depth.padding;
    g.dilation_depth = row.depth.dilation;
    return g;
}

/// A convolution or linear row of an int8 model that adds the codes of inputs[1] to its sums before they are rounded.
constexpr bool has_residual(const node& row) { return is_weighted(row.kind) && row.input_count == 2; }

/// Which row of the prepared network has the values that a row of the int8 model holds as codes.
constexpr int value_origin(const node& row) {
    if (row.table_origin >= 0) return row.table_origin;
    return row.sum_origin >= 0 ? row.sum_origin : row.origin;
}

/// The rules that a model can break while it is put together. Each has its sentence in model/verdict.hpp.
// clang-format off
enum class rule : std::uint8_t {
    none, duplicate_name, image_expected, branch_shapes_differ, channels_not_divisible, out_channels_missing,
    empty_output,
    linear_needs_flatten, too_many_inputs, too_many_nodes, accumulator_overflow, no_quantized_form, no_input,
    window_not_positive, padding_too_large, operand_types_differ, flattened_image, unused_value, no_layers,
    not_a_layer, algorithm_does_not_fit, clamp_bounds, operand_shapes, name_missing, sequence_expected,
    conv_transpose_options, no_wide_form, cannot_stream, indices_read, indices_expected
};
// clang-format on

/// The first broken rule, the row that broke it, and up to two shapes that explain it.
struct diagnostic {
    rule broken = rule::none;
    int row = -1;
    shape a{}, b{};
};

}  // namespace v0
}  // namespace zp
