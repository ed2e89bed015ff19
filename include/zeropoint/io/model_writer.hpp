// SPDX-License-Identifier: BSD-3-Clause
// Networks to files: integers in PyTorch's order, scales and zero points, tables, and floats for the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/core/half_float.hpp>
#include <zeropoint/core/span_of.hpp>
#include <zeropoint/core/type_name.hpp>
#include <zeropoint/io/model_tensors.hpp>
#include <zeropoint/io/safetensors_writer.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/version.hpp>

namespace zp::inline v0 {
namespace detail {

/// Adds the tensors of a network whose files have these Contents. The reading twin is model_reader.
template <file_contents Contents> class model_writer {
public:
    model_writer(safetensors_writer& file, bool keeps_parts_whole) : file_(file), whole_(keeps_parts_whole) {}

    void add_ranges(std::span<const qparams> ranges) {
        std::vector<float> scales(ranges.size());
        std::vector<std::int32_t> zero_points(ranges.size());
        for (std::size_t i = 0; i != ranges.size(); ++i) {
            scales[i] = ranges[i].scale;
            zero_points[i] = ranges[i].zero_point;
        }
        const file_shape shape{static_cast<std::int64_t>(ranges.size())};
        file_.add(scales_name, shape, scales);
        file_.add(zero_points_name, shape, zero_points);
    }
    void add_parameters(std::span<const node> nodes, int i, const node_parameters& all) {
        const node_view v{nodes.data(), nodes[static_cast<std::size_t>(i)]};
        const parameter_list list = parameters_of(v);
        std::size_t matrices = 0, vectors = 0;
        bool is_coded = false;  // the array before, to which a bias belongs
        for (int k = 0; k != list.count; ++k) {
            const parameter_array& array = list.arrays[k];
            if (array.role == parameter_role::bias && is_coded) {
                add_bias(tensor_name(v.n, array.name), shape_of(array), all.matrices[matrices - 1]);
                continue;
            }
            const coded_array coding = coding_of(v, array);
            is_coded = !coding.is_float();
            if constexpr (Contents.floats)
                if (!is_coded) add_floats(v.n, array, all.vectors[vectors++]);
            if constexpr (Contents.codes)
                if (is_coded) add_coded(v.n, array, coding, all.matrices[matrices++]);
        }
        if constexpr (Contents.luts)
            if (const int size = lut_size(v); size != 0) file_.add(table_name(v.n, i), {size}, all.lut);
        if constexpr (Contents.lut_nodes)
            if (const int count = lut_node_count(v); count != 0) file_.add(table_name(v.n, i), {count}, all.lut_nodes);
    }

private:
    void add_floats(const node& n, const parameter_array& array, const std::vector<float>& inside) {
        if (!array.in_state_dict) return;
        std::vector<float> ordered(inside.size());
        array_to_file(array, inside.data(), ordered.data());
        if (n.part.name != nullptr && whole_)  // nodes of parts stand in order
            file_.append(whole_name(n, array.name), shape_of(array), ordered);
        else if (array.tied_to != nullptr && whole_) check_tied(n, array, ordered);
        else file_.add(tensor_name(n, array.name), shape_of(array), ordered);
    }
    /// What an earlier row has added is this array too.
    [[gnu::cold]] void check_tied(const node& n, const parameter_array& array, const std::vector<float>& values) const {
        if (!file_.has(array.tied_to, values))
            raise<value_error>(
                joined({tensor_name(n, array.name), ": expected the values of ", in_quotes(array.tied_to),
                        ", to which the model ties it and which a state dict has alone, found others: "
                        "save it as a model whose layers are not tied"}));
    }
    void add_coded(const node& n, const parameter_array& array, const coded_array& coding,
                   const quantized_weights& weights) {
        const std::string name = tensor_name(n, array.name);
        const file_shape rows = shape_of_scales(n, array, coding);
        add_codes(name, array, coding, weights.codes);
        if constexpr (Contents.halves)
            if (coding.has_half_scales) {
                add_halves(name + "_scale", rows, weights.scales);
                if (coding.has_offsets) add_halves(name + "_offset", rows, weights.offsets);
                return;
            }
        if (coding.has_scales) file_.add(name + "_scale", rows, weights.scales);
        if constexpr (Contents.offsets)
            if (coding.has_offsets) {
                file_.add(name + "_offset", rows, weights.offsets);
                return;
            }
        if (coding.affine) file_.add(name + "_zero_point", rows, weights.zero_points);
    }
    void add_codes(const std::string& name, const parameter_array& array, const coded_array& coding,
                   const std::vector<std::byte>& codes) {
        const file_shape shape = shape_of(array, coding);
        if constexpr (Contents.codes_of_16_bits)
            if (coding.storage == scalar_type::int16) {
                std::vector<std::int16_t> values(codes.size() / sizeof(std::int16_t));
                if (!values.empty()) std::memcpy(values.data(), codes.data(), codes.size());
                file_.add(name, shape, values);
                return;
            }
        std::vector<std::byte> ordered = codes;
        if (array.role == parameter_role::filters) array_to_file(array, codes.data(), ordered.data());
        if constexpr (Contents.pairs)
            if (coding.has_groups && coding.bits() == 4) {
                const std::vector<std::byte> pairs = pairs_of_codes(span_of(ordered), array.extents[1]);
                return file_.add(name, file_dtype::U8, shape, span_of(pairs));
            }
        file_.add(name, coding.storage == scalar_type::int8 ? file_dtype::I8 : file_dtype::U8, shape, span_of(ordered));
    }
    void add_halves(const std::string& name, const file_shape& shape, const std::vector<float>& values) {
        std::vector<std::byte> bytes(2 * values.size());
        for (std::size_t i = 0; i != values.size(); ++i)
            store_little_endian(float16_from_float(values[i]), &bytes[2 * i]);
        file_.add(name, file_dtype::F16, shape, span_of(bytes));
    }
    void add_bias(const std::string& name, const file_shape& shape, const quantized_weights& weights) {
        if constexpr (Contents.int64_biases)
            if (!weights.int64_bias.empty()) return file_.add(name, shape, weights.int64_bias);
        if constexpr (Contents.float_biases)
            if (!weights.float_bias.empty()) return file_.add(name, shape, weights.float_bias);
        if constexpr (Contents.int32_biases) file_.add(name, shape, weights.bias);
    }

    safetensors_writer& file_;
    bool whole_;
};

/// A network as its writer sees it.
struct network_to_write {
    std::span<const node> nodes;
    const unpack_function* unpacks;
    const std::byte* parameters;
    const qparams* all_ranges;
    std::span<const qparams> ranges;  // that are in the file: all or none
    bool keeps_parts_whole;
};
/// Adds what a network has in a file.
template <file_contents Contents> void write_nodes(const network_to_write& from, safetensors_writer& file) {
    model_writer<Contents> writer(file, from.keeps_parts_whole);
    if (from.ranges.data() != nullptr) writer.add_ranges(from.ranges);
    for (int i = 0; i != static_cast<int>(from.nodes.size()); ++i) {
        const node& n = from.nodes[static_cast<std::size_t>(i)];
        const unpack_function unpack = from.unpacks[i];
        if (n.at.parameter_bytes == 0 || unpack == nullptr) continue;
        // preparation is for packing as well; unpacking only reads.
        auto* block = const_cast<std::byte*>(from.parameters + n.at.parameter_offset);
        writer.add_parameters(from.nodes, i, unpack({{from.nodes.data(), n}, from.all_ranges, block}));
    }
}

/// A type's name as metadata: what is long was written where it is used, and nobody would read it.
template <class T> std::string short_type_name() {
    constexpr std::string_view name = type_name<T>();
    constexpr std::size_t longest = 200;
    return name.size() <= longest ? std::string(name) : std::string(name.substr(0, longest)) + "...";
}
/// What tells a damaged int8 file, and people what it is of.
template <class Stage> void add_provenance(safetensors_writer& file) {
    file.metadata("network", short_type_name<typename Stage::net>());
    file.metadata("qconfig", short_type_name<typename Stage::config>());
    file.metadata("zeropoint", joined({decimal(ZEROPOINT_VERSION_MAJOR), ".", decimal(ZEROPOINT_VERSION_MINOR), ".",
                                       decimal(ZEROPOINT_VERSION_PATCH)}));
    file.add_checksums();
}

/// Stages of which files are made: int8 and dynamic ones, and a model as the user wrote it.
template <class Stage> inline constexpr bool is_saved = int8_stage<Stage>;
template <class Net, class Arch> inline constexpr bool is_saved<float_stage<Net, Arch>> = true;

}  // namespace detail

/// The file of a float network, as PyTorch writes it, or of an int8 or dynamic one.
template <class Stage>
    requires detail::is_saved<Stage> safetensors_writer write_model(const network<Stage>& model) {
        constexpr bool is_int8 = detail::int8_stage<Stage>;
        safetensors_writer file;
        file.metadata("format", is_int8 ? "zeropoint.int8" : "pt");
        if constexpr (is_int8) {
            file.metadata("format_version", std::to_string(int8_format_version));
            file.metadata("signature", detail::signature_of_stage<Stage>(0));
        }
        detail::network_to_write from{};
        from.nodes = model.rows();
        from.unpacks = Stage::unpacks.data();
        from.parameters = model.parameters();
        from.all_ranges = model.ranges();
        if constexpr (detail::has_ranges<Stage>)
            from.ranges = {model.ranges(), static_cast<std::size_t>(Stage::table.qparams_count)};
        from.keeps_parts_whole = !is_int8;
        detail::write_nodes<detail::linked_contents_of<Stage>>(from, file);
        if constexpr (is_int8) detail::add_provenance<Stage>(file);
        return file;
    }

}  // namespace zp::inline v0
