// What the passes, the planner and the files ask of a row whose operator they do not know by name, and the same questions
// answered for the operators they do know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/layer/node.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp {
inline namespace v0 {

struct context;
struct quantized_parameters;
struct recurrent_layer;
struct embedding_layer;
/// One row's work. Which function it is, is decided at compile time; big rows share one function per kind and dtypes.
using step_function = void (*)(const node& row, const context& c) noexcept;

/// Where the scale and zero point of an operator's output come from.
enum class output_range : std::uint8_t {
    observed,  ///< from an observer, as a convolution's
    of_input,  ///< they are those of the first input, as a max_pool2d's
    derived,   ///< they follow from those of the first input, by a function: as mul_scalar's
    known      ///< from bounds that are known beforehand, as a sigmoid's
};

/// One array of floats that an operator owns, "Name.weight" in a file. With three extents it is channels x height x width
/// there, as PyTorch has it, and height x width x channels inside.
struct parameter_array {
    const char* name = "weight";
    int rank = 1;
    int extents[3] = {1, 1, 1};
    bool matrix = false;  // rows x columns weights: columns x rows inside, and codes where int8 rows keep it so
    constexpr int size() const { return extents[0] * extents[1] * extents[2]; }
};

/// The arrays of an operator, in the order in which they lie in its block.
struct parameter_list {
    static constexpr int most = 40;
    parameter_array arrays[most];
    int count = 0;
    const char* unread = nullptr;  // what a state dict has beside them, and nothing needs

    constexpr parameter_list() = default;
    /// One array, "weight", of so many values; none for 0.
    constexpr parameter_list(int values) {  // NOLINT(google-explicit-constructor): `return in.channels;`
        if (values != 0) add("weight", values);
    }
    constexpr parameter_list& add(const char* name, int values) { return add({name, 1, {values, 1, 1}}); }
    constexpr parameter_list& add(const parameter_array& array) {
        arrays[count++] = array;
        return *this;
    }
    constexpr parameter_list& add_matrix(const char* name, int rows, int columns) {
        return add({name, 2, {rows, columns, 1}, true});
    }
    constexpr int size() const {
        int sum = 0;
        for (int i = 0; i != count; ++i) sum += arrays[i].size();
        return sum;
    }
};

/// What is there when a row's prepared block is written: at convert, and when an int8 file is loaded.
struct preparation {
    const node& row;
    const node* rows;
    const qparams* ranges;    // one a slot
    const float* parameters;  // the operator's arrays, one behind the other
    std::byte* prepared;      // prepared_bytes to fill, aligned to buffer_alignment

    const node& x(int k = 0) const { return rows[row.inputs[k]]; }  // its extents, storage type and range of codes
    const qparams& x_qparams(int k = 0) const { return ranges[x(k).slot]; }
    const qparams& y_qparams() const { return ranges[row.slot]; }
};

/// How an int8 row keeps the matrices of its operator as codes: nothing else of its parameters is in its block, and a file
/// has "Name.weight" in int8 beside "Name.weight_scale", one a row.
struct quantized_form {
    /// Fills preparation::prepared; `parameters` is null. Returns a sentence where scales make no sense together, else null.
    const char* (*pack)(const preparation&, const quantized_parameters&);
    /// The inverse, for files.
    quantized_parameters (*unpack)(const node&, const std::byte* prepared);
};

struct operator_description;
/// y = (x - mean[channel]) / deviation[channel]: an operator that a convolution behind it can take into its weights. Where the
/// convolution pads, the border is put around the image before.
struct channel_map {
    std::span<const float> mean, deviation;
    const operator_description* border;
    const operator_steps* border_steps;
};

/// An operator, as a row points to it: made by describe<Layer> (layer/operation.hpp) from the static members of a type.
struct operator_description {
    const char* kind;              // its name, for people and for the signature of a file
    std::span<const int> options;  // what tells it from others of that name
    output_range range = output_range::observed;
    float output_min = 0, output_max = 0;  // where the range is known
    bool elementwise = false;  // an output depends on the inputs at its place alone: it may be written over one of them
    bool moves_nothing = false;  // codes of the output are those of the input, at their places: a view in int8 stages
    bool on_one_grid = false;    // inputs with another scale or zero point than the output's come through a table
    bool picks_values = false;   // each output is one of the inputs, or zero: chosen, never computed
    bool has_own_range = false;  // on one grid, and that one is never another row's
    bool takes_volumes = false;  // reads all pixels alike, so that planes of a volume are to it more rows of an image
    bool fuses_clamps = false;   // relu, relu6 and clamp behind it become its bounds
    bool has_codes = false;      // has an int8 form
    bool has_words = false;      // has a form over codes of 16 bits

    parameter_list (*parameters)(const node&);
    int (*scratch_bytes)(const node&);
    int (*prepared_bytes)(const node&);
    void (*prepare)(const preparation&);
    const char* (*problem)(const preparation&);            // a sentence where scales make no sense together, else null
    qparams (*derive)(const node&, const qparams& input);  // where the range is derived
    std::int64_t (*macs)(const node&);                     // multiply-accumulates, for tables and budgets
    const channel_map* map = nullptr;                      // where it is one
    const kernel::pad_sides* zeros = nullptr;    // where it only puts zeros around an image, as convolutions can
    const quantized_form* quantized = nullptr;   // where int8 rows keep matrices as codes
    const recurrent_layer* recurrent = nullptr;  // where it is one, which has a dynamic form
    const embedding_layer* embedding = nullptr;  // where it reads rows of a table
};

/// The functions of an operator on one architecture; null where it has no such form.
struct operator_steps {
    step_function floats, unsigned_codes, signed_codes, words = nullptr;
};

/// What a row does, for people: an activation has the name of its function.
constexpr const char* kind_of(const node& row) {
    if (row.described != nullptr) return row.described->kind;
    if (row.one_dimensional) return row.kind == op::conv2d ? "conv1d" : "conv_transpose1d";
    return row.kind == op::activation ? row.function->kind : name_of(row.kind);
}

/// The output has the input's scale and zero point, by definition of the operator.
constexpr bool keeps_qparams(const node& row) {
    if (row.described != nullptr) return row.described->range == output_range::of_input;
    return is_clamp(row.kind) || row.kind == op::max_pool2d || row.kind == op::avg_pool2d ||
           row.kind == op::adaptive_avg_pool2d || row.kind == op::flatten;
}
/// The output's scale and zero point follow from the input's: nothing is observed.
constexpr bool derives_qparams(const node& row) {
    return row.described != nullptr && row.described->range == output_range::derived;
}
/// sigmoid, tanh and others have a known range: their scale is a constant, not an observation.
constexpr bool has_fixed_qparams(const node& row) {
    if (row.described != nullptr) return row.described->range == output_range::known;
    return row.function != nullptr && row.function->has_known_range();
}
/// Inputs are brought to the output's scale and zero point before the row reads them.
constexpr bool is_on_one_grid(const node& row) {
    return row.kind == op::concat || (row.described != nullptr && row.described->on_one_grid);
}
/// The inputs may have any scale of the output's dtype: the row itself brings them to its own.
constexpr bool requantizes_inputs(const node& row) { return row.kind == op::concat; }
/// Each output is one of the inputs, a bound or zero. Rounding and cutting the inputs is then rounding and cutting the
/// outputs: a coarser grid in front costs no more than the same grid behind. An average is none.
constexpr bool picks_values(const node& row) {
    if (row.described != nullptr) return row.described->picks_values;
    return is_clamp(row.kind) || row.kind == op::max_pool2d || row.kind == op::flatten;
}
constexpr bool has_own_range(const node& row) { return row.described != nullptr && row.described->has_own_range; }
/// Clamps behind the row become its bounds.
constexpr bool fuses_clamps(const node& row) {
    return is_weighted(row.kind) || row.kind == op::add || (row.described != nullptr && row.described->fuses_clamps);
}
/// Each output depends on the inputs at its place alone.
constexpr bool is_elementwise(const node& row) {
    if (row.described != nullptr) return row.described->elementwise;
    return is_clamp(row.kind) || is_table(row.kind) || row.kind == op::add || row.kind == op::batch_norm ||
           row.kind == op::requantize;
}
/// Whether inputs may have a depth.
constexpr bool takes_volumes(const node& row) {
    if (is_elementwise(row) || is_identity(row.kind)) return true;
    if (row.described != nullptr) return row.described->takes_volumes;
    return row.kind == op::conv3d || row.kind == op::conv_transpose3d || row.kind == op::concat ||
           row.kind == op::flatten;
}
/// Whether the values that a row writes are those it reads: only their extents or their scale differ.
constexpr bool is_view(const node& row) {
    const bool same_codes =
        row.described != nullptr && row.described->moves_nothing && row.type != scalar_type::float32;
    return is_identity(row.kind) || row.kind == op::flatten || same_codes;
}

/// An LSTM or GRU, see layer/recurrent_geometry.hpp.
constexpr bool is_recurrent(const node& row) { return row.described != nullptr && row.described->recurrent != nullptr; }
/// Rows of a table, see layer/embedding_geometry.hpp.
constexpr bool is_embedding(const node& row) { return row.described != nullptr && row.described->embedding != nullptr; }
/// Whether the block of a row has codes in place of its operator's floats.
constexpr bool keeps_codes(const node& row) {
    if (row.described == nullptr || row.type == scalar_type::float32) return false;
    return row.described->quantized != nullptr || row.described->embedding != nullptr;
}

/// Whether a row has a form over codes of 16 bits. Other rows stay in float32 where the qconfig asks for those.
constexpr bool has_wide_form(const node& row) {
    if (row.described != nullptr) return row.described->has_words;
    switch (row.kind) {
        case op::input:
        case op::conv2d:
        case op::conv_transpose2d:
        case op::linear:
        case op::add:
        case op::concat:
        case op::max_pool2d:
        case op::avg_pool2d:
        case op::adaptive_avg_pool2d:
        case op::flatten: return true;
        default: return is_clamp(row.kind) || is_table(row.kind) || is_identity(row.kind);
    }
}

/// Whether a row's block is a wide_table: its nodes, int32.
constexpr bool is_wide_table_row(const node& row) { return row.type == scalar_type::int16 && is_table(row.kind); }
/// Whether a row computes with codes of 16 bits at one end at least, a boundary to floats excepted.
constexpr bool is_wide(const node& row) {
    return row.wide_input || (row.type == scalar_type::int16 && row.kind != op::quantize);
}

/// Where the prepared bytes of a described row lie in its block: behind its floats.
constexpr int prepared_offset(const node& row) {
    if (keeps_codes(row)) return 0;
    return static_cast<int>(align_up(sizeof(float) * static_cast<std::size_t>(row.weights)));
}

}  // namespace v0
}  // namespace zp
