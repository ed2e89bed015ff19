// SPDX-License-Identifier: BSD-3-Clause
// What an operator is: facts that programs keep, and rules that passes ask. No pass, planner, reader or printer knows more of an
// operator than this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <zeropoint/graph/node.hpp>
#include <zeropoint/graph/parameters.hpp>
#include <zeropoint/kernel/epilogue/float_epilogue.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp::inline v0 {

struct context;
struct preparation;
/// One node's work. Which function it is, is decided at compile time.
using run_function = void (*)(const node&, const context&) noexcept;

/// What qconfigs select by type: zp::op::conv2d, zp::op::lstm. Compared by address.
struct operator_kind {
    const char* name;             // for people: "conv2d"
    bool has_algorithms = false;  // several compute it, of which one is chosen: it has filters
};

namespace op {
inline constexpr operator_kind none{"none"};
}

/// Where the scale and zero point of an operator's output come from.
enum class qparams_source : std::uint8_t {
    observed,  ///< from an observer, as a convolution's
    of_input,  ///< they are those of the first input, as a max_pool2d's
    derived,   ///< they follow from those of the first input, by a function: as mul_scalar's
    known      ///< from bounds that are known beforehand, as a sigmoid's
};

/// What the inputs of an operator must have in common in int8.
enum class input_rule : std::uint8_t {
    any,           ///< the dtype of the output, where the operator neither multiplies nor is a function
    same_qparams,  ///< the output's scale and zero point, as a concat's: see docs/decisions/0007-shared-scales.md
    indices,       ///< the first input is integers, whatever the rest of the network computes with
    extents        ///< only the extents of the first input are read
};

/// How an operator runs a step of a sequence at a time.
enum class stream_rule : std::uint8_t {
    whole,           ///< not at all: it needs the whole sequence
    pointwise,       ///< a step of the output depends on that step of the inputs alone
    windowed,        ///< on the steps that its window2d covers, of which those before the sequence are zeros
    pooled,          ///< the same, where the operator leaves out what is before the sequence
    transposed,      ///< its window2d is that of a transposed convolution, which gives several steps for one
    stateful,        ///< on a state that is kept from step to step
    zeros_in_front,  ///< it puts steps of zeros in front of the sequence, and perhaps behind
    cut_behind       ///< it gives the first steps as they are
};

/// How the output of an operator is cut into rows that are computed apart: see graph/cut.hpp. A row lies along the outermost
/// extent of the output above 1, of depth, height and width.
enum class cut_rule : std::uint8_t {
    by_stream,  ///< as steps of a sequence are: pointwise and windowed operators are cut so, others are not
    whole,      ///< not at all
    pointwise,  ///< a pixel of the output depends on that pixel of the inputs alone, or on all of an input of one row
    windowed,   ///< on the pixels that its window2d covers
    volume_windowed,  ///< that its window3d covers
    matrices  ///< a row on that row of the first input and on all of the others; where it is a matrix, on theirs
};

/// What operators give to neighbours and take from them when nodes are fused.
enum fusion : unsigned {
    bounds = 1,          ///< a clamp behind another operator becomes its bounds
    channel_affine = 2,  ///< factors and offsets of channels go into weights and bias
    function = 4,        ///< a function of one value becomes a table behind the sums
    addend = 8,          ///< another value is added to the sums
    channel_map = 16,    ///< means and deviations of the input's channels go into the weights behind them
    zeros = 32           ///< zeros around an image become padding
};

/// Which kernels multiply filters: a linear layer is a conv2d of one pixel.
enum class filter_kernels : std::uint8_t { none, conv2d, conv3d, conv_transpose2d, conv_transpose3d };

/// A function of one value: of sigmoid, tanh, hardswish and leaky_relu nodes, and of any that the user gives. Made from a
/// callable type: see operators/function.hpp.
struct scalar_function {
    std::span<const float> constants;                // what tells it from others of its name
    float_epilogue epilogue = float_epilogue::none;  // as which a dynamic product computes it, where it can
};

/// y = (x - mean[channel]) / deviation[channel], which a convolution behind it can take into its weights. Where the
/// convolution pads, `border` puts the means around the image before.
struct channel_map_of {
    std::span<const float> mean, deviation;
    const operator_info* border;
    const operator_rules* border_rules;
};

/// Indices [first, first + count) of the input are below `rows`: of a table, or of a mask, which has 0 and 1.
struct index_bound {
    int first = 0, count = 0, rows = 0;
    bool is_mask = false;
};

/// What a node leaves for the next step of a sequence, which begins with zeros: arrays one behind the other, each at a multiple
/// of 64 bytes.
struct state_array {
    const char* name = "";                       // PyTorch's: "h", "c"
    scalar_type storage = scalar_type::float32;  // of its values
    int size = 0;                                // how many values
};
/// The states of a node.
struct state_list {
    static constexpr int most = 4;  // so many arrays at most
    state_array arrays[most];       // the first `count` of these
    int count = 0;                  // how many there are

    /// One more array. Returns the list.
    constexpr state_list& add(const char* name, scalar_type storage, int size) {
        arrays[count++] = {name, storage, size};
        return *this;
    }
    /// Where array i begins, in bytes.
    constexpr int offset_of(int i) const {
        std::size_t offset = 0;
        for (int k = 0; k != i; ++k)
            offset += align_up(static_cast<std::size_t>(arrays[k].size) *
                               static_cast<std::size_t>(size_of(arrays[k].storage)));
        return static_cast<int>(offset);
    }
    /// Of all, with what aligns them.
    constexpr int bytes() const { return offset_of(count); }
};

/// Facts. Nothing reachable from here names a kernel, so that a program which stores a table links nothing with it.
struct operator_info {
    const operator_kind* kind = nullptr;
    const char* name = "";                        // for people, and for the signature of files
    std::span<const int> options{};               // what tells it from others of that name, beside a node's own options
    std::span<const char* const> option_names{};  // of node::options
    bool signed_by_kind = false;  // files of format 1 sign its kind alone, and no name and options beside it

    qparams_source range = qparams_source::observed;
    float output_min = 0, output_max = 0;  // where the range is known
    bool closed_range = false;             // output_max has a code too; else it is a step beyond the last one
    input_rule inputs = input_rule::any;
    stream_rule stream = stream_rule::whole;
    cut_rule cut = cut_rule::by_stream;
    unsigned gives = 0, takes = 0;  // of fusion
    bool has_codes = false;         // has a form over codes of 8 bits; a node without one stays float32
    bool refuses_codes = false;     // must not be left in an int8 network: an error where fusing has not removed it
    bool has_int16 = false;         // has a form over codes of 16 bits
    bool elementwise = false;  // an output depends on the inputs at its place alone: it may be written over one of them
    bool keeps_order = false;  // and whatever that place means: values of a flattened image too
    bool moves_nothing = false;  // codes of the output are those of the input, at their places: a view in int8
    bool picks_values =
        false;  // each output is one of the inputs, a bound or zero: a coarser range in front of it costs no
                // more than the same range behind it. An average is none
    bool requantizes_inputs =
        false;                   // of the same qparams: the operator itself brings inputs of another range to its own
    bool has_own_range = false;  // of the same qparams: and its range is never another node's
    bool is_view = false;        // the same of floats: where input and output have one place, nothing is done
    bool is_identity = false;    // does nothing at inference: the fuse pass removes it
    bool takes_volumes = false;  // inputs may have a depth
    bool homogeneous = false;    // factors above 0 on the channels of its input are those on the channels of its output
    int gain_arrays = 0;         // so many of its first arrays, a value a channel each, are factors of its output
    bool is_input = false;
    bool is_output = false;                                  // gives its input to the caller: see graph/ports.hpp
    bool is_boundary = false;                                // between floats and codes, or codes of two kinds
    bool to_float = false;                                   // reads codes and writes floats
    bool opens_quantized = false, closes_quantized = false;  // the stubs
    bool multiplies = false;                                 // has filters, whose algorithm is chosen:
    filter_kernels filters = filter_kernels::none;
    bool is_connected = false;     // over whole vectors, as a linear layer
    bool has_dynamic = false;      // a form with int8 weights over floats, which it quantizes
    bool has_weight_only = false;  // a form with int8 weights over floats, which are multiplied as floats
    // The block of an int8 node has codes in place of its floats: matrices as int8, symmetric with a scale a row whatever the
    // qconfig says of weights, tables in the output's codes.
    bool keeps_codes = false;
    bool table_gives_floats = false;  // an int8 node's table has a scale and an offset a row, and gives floats
    bool any_length = false;  // of a sequence: its output has as many columns as its input, whatever their number
    bool takes_side_by_side =
        false;             // its inputs may be the channels of one value, one behind the other: see merge_parts
    int state_values = 0;  // of a recurrent operator: what a step gives, in one direction
    const scalar_function* function = nullptr;
    const channel_map_of* map = nullptr;
    const kernel::pad_sides* zeros = nullptr;

    parameter_list (*parameters)(const node_view&) = nullptr;
    kernel::conv2d_geometry (*geometry)(const node_view&) = nullptr;  // of filter_kernels::conv2d; null for all others
    index_bound (*bound)(const node_view&) = nullptr;
    state_list (*states)(const node_view&) = nullptr;  // what a call leaves to the next
    bool goes_back = false;  // a part of these states begins where a sequence ends: a layer of both directions
    int (*channel_groups)(const node_view&) =
        nullptr;  // that are computed apart, states and all, by several workers; see operands
};

/// What a form refuses of the scales that it is packed with: null `rule` where it takes them.
struct refusal {
    const char* rule = nullptr;
    double found = 0, beside = 0;  // two scales that are too far apart; 0 where the rule says all
    const char* advice = nullptr;  // for who calibrates
};

/// The forms of an operator that has the same functions for all its nodes, one a storage: float32, uint8, int8, int16.
struct operator_forms {
    run_function run[4] = {};
    int (*parameter_bytes)(const node_view&) = nullptr;
    int (*scratch_bytes)(const node_view&) = nullptr;
    refusal (*pack)(const preparation&, const node_parameters&) = nullptr;
    node_parameters (*unpack)(const preparation&) = nullptr;
};

/// What the weights of filters are multiplied with, for the correction of biases: see workflow/input_sums.hpp.
struct tap_sums_rule {
    int (*taps)(const node_view&);  // of a filter
    int (*groups)(const node_view&);
    /// sums[tap][channel] += the values of the input that each tap of the window meets: see kernel/convolution/tap_input_sums.hpp.
    void (*add)(const node_view&, const float* x, double* sums);
};

/// Rules: what passes ask, and conversions. A table that a program stores has none.
struct operator_rules {
    void (*merge)(node& into, const node& self) = nullptr;                // how what it gives gets there
    qparams (*derive)(const node_view&, const qparams& input) = nullptr;  // where the range is derived
    std::int64_t (*macs)(const node_view&) = nullptr;      // multiply-accumulates, for tables and budgets
    double (*value)(double x, float parameter) = nullptr;  // of a function, for tables; null: the identity
    const tap_sums_rule* tap_sums = nullptr;               // of filters
    const operator_forms* forms = nullptr;                 // where forms_of has none for its kind
    /// Where node i is the last of several that are one operator together: that operator's node, with what the first of them
    /// read as inputs. Else false.
    bool (*contract)(const node* nodes, int i, node& whole) = nullptr;
};

constexpr bool keeps_qparams(const node& n) { return n.op->range == qparams_source::of_input; }
constexpr bool derives_qparams(const node& n) { return n.op->range == qparams_source::derived; }
constexpr bool has_known_range(const node& n) { return n.op->range == qparams_source::known; }

/// Multiply-accumulates of one inference of a node: products of weights and activations, or of activations.
constexpr std::int64_t macs_of(const node_view& v) {
    return v.n.rules == nullptr || v.n.rules->macs == nullptr ? 0 : v.n.rules->macs(v);
}
constexpr parameter_list parameters_of(const node_view& v) {
    return v.n.op->parameters == nullptr ? parameter_list() : v.n.op->parameters(v);
}
constexpr state_list states_of(const node_view& v) {
    return v.n.op->states == nullptr ? state_list() : v.n.op->states(v);
}

/// How an array of a node is kept: as floats, or as these codes.
struct coded_array {
    scalar_type storage = scalar_type::float32;
    std::int32_t quant_min = 0, quant_max = 0;
    bool has_scales = false;   // one a channel or row
    bool affine = false;       // and zero points
    bool has_offsets = false;  // scales and offsets of rows or groups: scale * code + offset
    bool has_groups = false;   // one scale for each `group` inputs of an output, or for all of them where that is 0:
    int group = 0;
    bool has_half_scales = false;  // scales and offsets are float16 numbers

    constexpr bool is_float() const { return storage == scalar_type::float32; }
    /// Of a code in files: two of 4 bits share a byte.
    constexpr int bits() const { return has_offsets || has_groups ? bits_of_codes(quant_min, quant_max) : 8; }
    /// Whether they share one in memory as well: rows of an embedding's table.
    constexpr bool in_pairs() const { return has_offsets && !has_groups && bits() == 4; }
    /// How many groups so many inputs are.
    constexpr int groups_of(int inputs) const { return group == 0 ? 1 : (inputs + group - 1) / group; }
};
constexpr coded_array coding_of(const node_view& v, const parameter_array& array) {
    const bool is_table = array.role == parameter_role::table;
    if (!is_table && array.role != parameter_role::filters && array.role != parameter_role::matrix) return {};
    const value_type& y = v.y_type();
    if (v.n.op->keeps_codes && y.is_codes()) {
        if (is_table) return {y.storage, y.quant_min, y.quant_max};
        return {scalar_type::int8, -128, 127, true};
    }
    const weight_type& w = v.n.weights;
    if (w.storage == scalar_type::float32) return {};
    if (v.n.is_grouped())
        return {w.storage, w.quant_min, w.quant_max, true, false, w.storage == scalar_type::uint8, true, w.group, true};
    return {w.storage, w.quant_min, w.quant_max, true, w.affine, is_table, v.n.is_weight_only(), w.group};
}

/// Whether a node reads no values of its first input, which may then be of any type.
constexpr bool reads_no_values(const node& n) {
    return n.op->inputs == input_rule::indices || n.op->inputs == input_rule::extents;
}
/// Whether it reads nothing and is no input: its values are its parameters.
constexpr bool is_parameter(const node& n) { return n.input_count == 0 && !n.op->is_input; }
/// The storage that an operator with one body for all storages computes in.
constexpr scalar_type computing_storage(const node_view& v) {
    return v.n.input_count == 0 || reads_no_values(v.n) ? v.y_type().storage : v.x_type().storage;
}
/// Whether any of these nodes has a table of codes.
constexpr bool any_coded_table(const node* nodes, int size) {
    for (int i = 0; i != size; ++i) {
        const node& n = nodes[i];
        const bool is_coded = n.out.is_codes() || n.weights.storage != scalar_type::float32;
        if ((reads_no_values(n) || is_parameter(n)) && n.op->keeps_codes && is_coded) return true;
    }
    return false;
}

}  // namespace zp::inline v0
