// SPDX-License-Identifier: BSD-3-Clause
// What the tensors of a network are called in files, and which of them a network has: for its reader and its writer.
#pragma once

#include <string>
#include <type_traits>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/graph/lookup_tables.hpp>
#include <zeropoint/graph/pairs_of_codes.hpp>
#include <zeropoint/io/file_dtype.hpp>
#include <zeropoint/io/signature_v1.hpp>
#include <zeropoint/io/text.hpp>
#include <zeropoint/model/network.hpp>

namespace zp::inline v0 {

/// Of the int8 files that this version writes. A newer one is refused, an older one is read as it was meant.
inline constexpr int int8_format_version = 2;

namespace detail {

inline constexpr const char *scales_name = "activation.scale", *zero_points_name = "activation.zero_point";

template <class = void> std::string tensor_name(const node& n, const char* array) {
    return joined({n.name, array[0] == 0 ? "" : ".", array});
}
/// The same, which in a state dict may be another row's.
template <class = void> std::string name_in_file(const node& n, const parameter_array& array, bool is_state_dict) {
    return is_state_dict && array.tied_to != nullptr ? std::string(array.tied_to) : tensor_name(n, array.name);
}
/// The same where parts of one tensor stay whole, as in state dicts.
template <class = void> std::string whole_name(const node& n, const char* array) {
    return joined({n.part.name, "_", array});
}
/// Of the table of a function, by the node's name, or by its operator and its place among the nodes of the file's stage.
template <class = void> std::string table_name(const node& n, int place) {
    if (n.name[0] != 0) return joined({n.name, ".table"});
    return joined({n.op->name, "_", decimal(place), ".table"});
}

template <class = void> file_shape shape_of(const parameter_array& array) {
    return {array.extents, array.extents + array.rank};
}
/// As codes. Rows of codes of 4 bits are of whole bytes, in which two of them stand.
template <class = void> file_shape shape_of(const parameter_array& array, const coded_array& coding) {
    if (coding.bits() == 8) return shape_of(array);
    return {array.extents[0], (array.extents[1] + 1) / 2};
}
/// One value for each channel of filters, or row, or for each of its groups.
template <class = void>
file_shape shape_of_scales(const node& n, const parameter_array& array, const coded_array& coding) {
    const int rows = array.role == parameter_role::filters ? n.weights.channels : array.extents[0];
    if (coding.group == 0) return {rows};
    return {rows, coding.groups_of(array.size() / rows)};
}

/// How biases of coded filters are kept. Other biases are floats like any array.
enum class bias_type { int32, int64, float32 };
/// Floats where sums become floats, or the requantization policy takes such; else int64 where inputs have 16 bits.
constexpr bias_type bias_type_of(const node_view& v, bool has_float_bias) {
    if (v.n.is_float()) return bias_type::float32;
    if (v.x_type().storage == scalar_type::int16) return bias_type::int64;
    return has_float_bias ? bias_type::float32 : bias_type::int32;
}

/// Stages whose files are int8 files, of calibrated and of dynamically quantized networks; others have state dicts.
template <class Stage> concept int8_stage = requires { Stage::arithmetic; };
/// Whether codes of its activations have calibrated ranges.
template <class Stage> inline constexpr bool has_ranges = !std::is_void_v<typename Stage::policies::requantization>;
template <class Stage>
inline constexpr bool has_float_bias = [] {
    if constexpr (has_ranges<Stage>) return Stage::policies::requantization::has_float_bias;
    else return true;
}();

/// What is in the file of a network. A program links what reads and writes that, and nothing else.
struct file_contents {
    bool floats = false, codes = false, codes_of_16_bits = false, offsets = false, pairs = false;
    bool int32_biases = false, int64_biases = false, float_biases = false;
    bool luts = false, lut_nodes = false, fused_luts = false;
    bool halves = false;  // scales of groups that are float16 numbers

    /// Whether it has all that another has.
    constexpr bool has(const file_contents& other) const {
        return floats >= other.floats && codes >= other.codes && codes_of_16_bits >= other.codes_of_16_bits &&
               offsets >= other.offsets && pairs >= other.pairs && int32_biases >= other.int32_biases &&
               int64_biases >= other.int64_biases && float_biases >= other.float_biases && luts >= other.luts &&
               lut_nodes >= other.lut_nodes && fused_luts >= other.fused_luts && halves >= other.halves;
    }
    constexpr void add(const node_view& v, bool has_float_bias) {
        if (v.n.at.parameter_bytes == 0) return;
        luts = luts || lut_size(v) != 0;
        lut_nodes = lut_nodes || lut_node_count(v) != 0;
        fused_luts = fused_luts || v.n.fused.lut != nullptr;
        const parameter_list list = parameters_of(v);
        bool is_coded = false;
        for (int i = 0; i != list.count; ++i) {
            const parameter_array& array = list.arrays[i];
            if (array.role == parameter_role::bias && is_coded) {
                const bias_type type = bias_type_of(v, has_float_bias);
                int32_biases = int32_biases || type == bias_type::int32;
                int64_biases = int64_biases || type == bias_type::int64;
                float_biases = float_biases || type == bias_type::float32;
                continue;
            }
            const coded_array coding = coding_of(v, array);
            is_coded = !coding.is_float();
            floats = floats || !is_coded;
            codes = codes || is_coded;
            codes_of_16_bits = codes_of_16_bits || coding.storage == scalar_type::int16;
            offsets = offsets || coding.has_offsets;
            halves = halves || coding.has_half_scales;
            pairs = pairs || (coding.has_groups && coding.bits() == 4);
        }
    }
};
/// Those of int8 networks without tables, of float networks, and of all.
inline constexpr file_contents compiled_contents[] = {
    {.codes = true, .int32_biases = true},
    {.floats = true},
    {true, true, true, true, true, true, true, true, true, true, true, true},
};
template <class Stage>
inline constexpr file_contents contents_of = [] {
    file_contents all;
    for (int i = 0; i != Stage::table.size; ++i) all.add(Stage::table.view(i), has_float_bias<Stage>);
    return all;
}();

/// What its reader and writer are compiled for: with zeropoint::compiled, which has them for a few contents, the first of those
/// that have all of these.
template <class Stage>
inline constexpr file_contents linked_contents_of = [] {
#ifdef ZEROPOINT_COMPILED
    for (const file_contents& compiled : compiled_contents)
        if (compiled.has(contents_of<Stage>)) return compiled;
#endif
    return contents_of<Stage>;
}();

/// With `lut_bits`, what it would be with fused tables of 2^lut_bits entries. Of stages with `written`, that of those nodes.
template <class Stage> std::string signature_of_stage(int lut_bits) {
    if constexpr (requires { Stage::written; }) {
        return signature_text(signature_of_nodes<Stage, Stage::written>);
    } else if constexpr (contents_of<Stage>.fused_luts) {
        constexpr std::uint64_t signatures[] = {
            signature_of_nodes<Stage, Stage::loose, 8>, signature_of_nodes<Stage, Stage::loose, 9>,
            signature_of_nodes<Stage, Stage::loose, 10>, signature_of_nodes<Stage, Stage::loose, 11>,
            signature_of_nodes<Stage, Stage::loose, 12>};
        if (lut_bits != 0) return signature_text(signatures[lut_bits - 8]);
    }
    return signature_text(signature_of_nodes<Stage, Stage::loose>);
}

}  // namespace detail
}  // namespace zp::inline v0
