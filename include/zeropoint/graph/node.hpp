// SPDX-License-Identifier: BSD-3-Clause
// A node says what (an operator), on what (values with types) and where (placement). The operator says everything else.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/graph/algorithm_policy.hpp>

namespace zp::inline v0 {

struct operator_info;
struct operator_rules;

inline constexpr int max_inputs = 8, most_options = 16;
// Values of placement::arena_offset: the caller's memory of inputs, of output 0, and of output k at in_user_output - k.
inline constexpr int in_user_input = -1, in_user_output = -2;
constexpr bool is_in_user_output(int arena_offset) { return arena_offset <= in_user_output; }

/// What a node leaves for those that read it.
struct value_type {
    shape extents;             // height, width, channels; depth of a volume
    shape flattened{0, 0, 0};  // height x width x channels of the image that a flatten made a vector of
    scalar_type storage = scalar_type::float32;
    std::int32_t quant_min = 0, quant_max = 0;  // of its codes; of a dynamic node, of the codes of its input
    short qparams_id = -1;                      // its scale and zero point, and its observer

    /// Whether values are float32.
    constexpr bool is_float() const { return storage == scalar_type::float32; }
    /// The input of a model of indices: integers that choose rows of tables. It has no scale.
    constexpr bool is_indices() const { return storage == scalar_type::int32; }
    /// Whether values are codes of 8 or 16 bits.
    constexpr bool is_codes() const { return !is_float() && !is_indices(); }
    /// Its values stand pixel by pixel, where PyTorch's flatten has them channel by channel.
    constexpr bool is_flattened_image() const {
        return flattened.size() == extents.size() && flattened.pixels() > 1 && flattened.channels > 1;
    }
};

/// The weights of a node, and what they are multiplied as.
struct weight_type {
    scalar_type storage = scalar_type::float32;
    scalar_type products = scalar_type::float32;  // int8: inputs that are floats are quantized in each call
    bool has_bias = false;                        // the state dict has one
    bool affine = false;                          // codes have zero points
    bool packed_int16 = false;                    // codes are packed in 16 bits each: see takes_int16_panels
    bool packed_row = false;                      // floats are packed for a product of one row: see pack_float_rows
    std::int32_t quant_min = 0, quant_max = 0;
    int count = 0, channels = 0;  // how many weights, how many output channels
    int group = 0;  // of weights alone and in groups: how many inputs of an output share a scale; 0: all of them
};

/// Done to the output before it is written.
struct epilogue {
    const operator_info* clamp = nullptr;          // which operator gave the bounds
    float lowest = -infinity, highest = infinity;  // of a clamp, its own or a fused one
    const operator_info* lut = nullptr;            // the function of a fused table,
    float lut_parameter = 0;                       // its parameter,
    short lut_qparams_id = -1;                     // the range in front of it,
    std::int8_t lut_bits = 8;                      // and how many bits choose its entry: see operators/fused_table.hpp
    bool adds_input_1 = false;                     // a residual
    const operator_info* function = nullptr;       // over floats, behind a dynamic product: see float_epilogue

    constexpr bool is_empty() const {
        return clamp == nullptr && lut == nullptr && !adds_input_1 && function == nullptr;
    }
};

/// Parameters that are a part of tensors "name_weight" and "name_bias": which, and of how many. See linear_part.
struct packed_tensor {
    const char* name = nullptr;
    std::int8_t part = 0, parts = 1;
};
/// What the user asked for, and what computes the node.
struct algorithm_choice {
    algorithm_policy policy;
    conv2d_algorithm algorithm = conv2d_algorithm::automatic;
};
/// In bytes.
struct placement {
    int parameter_offset = 0, parameter_bytes = 0;  // in the parameter block
    int arena_offset = 0;                           // of the output; or in_user_output and below
    int scratch_offset = 0, scratch_bytes = 0;      // working memory of this node alone, in the same arena
    int state_offset = 0, state_bytes = 0;          // of its states, in context::state
};
/// Of which nodes of the stage before it is made: of itself, of the batch norm and the channel map folded into it, of the sum
/// with a residual and of the function that it computes as well.
struct provenance {
    short self = -1, folded = -1, normalized = -1, sum = -1, lut = -1;

    /// The node whose values it has as codes.
    constexpr short value() const { return lut >= 0 ? lut : sum >= 0 ? sum : self; }
};
struct node_flags {
    bool keep_float = false;     // stays float32 through convert
    bool outside_stubs = false;  // not between a quant_stub and a dequant_stub of a model that has such
    bool keeps_state = false;    // goes on from where the call before ended: see operator_info::states
    bool observed = false;       // prepared: its output feeds the observer of its qparams_id
    bool unshared = false;       // a requantize that files of shared ranges lack: see pass/shared_ranges.hpp
    bool port_codes = false;     // of an input or an output: the int8 network takes or gives codes there, no floats
};

/// A row of the table that every stage of a model owns as a static constexpr member. Nodes stand in execution order.
struct node {
    const operator_info* op = nullptr;      // facts about what it computes
    const operator_rules* rules = nullptr;  // what passes ask beside them; not in the table that a program stores
    int options[most_options] = {};         // its own numbers, in the order of op->option_names: see options_of
    float parameter = 0;                    // negative_slope of leaky_relu, epsilon of batch_norm
    const char* name = "";                  // the layer's; empty where it has none
    packed_tensor part;                     // which part of its tensors, where several layers share them
    short number = -1;              // its row in the model as written, whatever became of that: see number_of_row()
    short inputs[max_inputs] = {};  // numbers of the nodes that it reads
    std::int8_t input_count = 0;    // how many
    std::int8_t config = 0;         // which rule of the qconfig applies
    std::uint8_t requantized_inputs = 0;  // bit k where input k has another range, which the operator brings to its own
    value_type out;                       // what it leaves
    weight_type weights;                  // what it multiplies with
    epilogue fused;                       // what is done to the output before it is written
    algorithm_choice by;                  // how it is computed
    placement at;                         // where its memory lies
    provenance from;                      // of which nodes of the stage before it is made
    node_flags flags;                     // what passes have noted

    /// Whether its output is floats.
    constexpr bool is_float() const { return out.is_float(); }
    /// Whether its output is indices.
    constexpr bool is_indices() const { return out.is_indices(); }
    /// int8 weights, and inputs that are floats and quantized in each call.
    constexpr bool is_dynamic() const { return is_float() && weights.products == scalar_type::int8; }
    /// The same of 4-bit weights, in groups with a scale each.
    constexpr bool is_grouped() const { return is_dynamic() && weights.group != 0; }
    /// int8 weights, which are multiplied with floats as floats.
    constexpr bool is_weight_only() const {
        return is_float() && weights.storage == scalar_type::int8 && weights.products == scalar_type::float32;
    }
};

/// Whether |sum (x - z)(w - z)| over a filter may leave its half of int32; the other half is the bias's, see bias_limit.
constexpr bool sums_overflow(const node& n, const value_type& x) {
    const weight_type& w = n.weights;
    const std::int64_t range = std::int64_t{x.quant_max} - x.quant_min;
    const std::int64_t low = -std::int64_t{w.quant_min}, high = w.quant_max;
    const std::int64_t largest = w.affine ? high + low : (low > high ? low : high);
    return x.storage != scalar_type::int16 && w.count / w.channels * range * largest > INT32_MAX / 2;
}

/// A node among those that it reads.
struct node_view {
    const node* nodes;  // the table
    const node& n;      // the node

    /// Of input k: storage, range of codes.
    constexpr const value_type& x_type(int k = 0) const { return nodes[n.inputs[k]].out; }
    /// Of the output.
    constexpr const value_type& y_type() const { return n.out; }
    /// Extents of input k.
    constexpr const shape& x_shape(int k = 0) const { return x_type(k).extents; }
    /// Extents of the output.
    constexpr const shape& y_shape() const { return n.out.extents; }
};

/// The options of a node as a struct of the operator's own, which has ints alone.
template <class Options> constexpr Options options_of(const node& n) {
    static_assert(sizeof(Options) <= sizeof n.options);
    std::array<int, sizeof(Options) / sizeof(int)> values;
    for (std::size_t i = 0; i != values.size(); ++i) values[i] = n.options[i];
    return std::bit_cast<Options>(values);
}
template <class Options> constexpr void set_options(node& n, const Options& options) {
    static_assert(sizeof(Options) <= sizeof n.options);
    const auto values = std::bit_cast<std::array<int, sizeof(Options) / sizeof(int)>>(options);
    for (std::size_t i = 0; i != values.size(); ++i) n.options[i] = values[i];
}

}  // namespace zp::inline v0
