// SPDX-License-Identifier: BSD-3-Clause
// Networks from files, float, int8 and dynamic alike: node by node, and of a node array by array, as its role says. No layout of
// any architecture is in a file: weights are packed when it is loaded.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/span_of.hpp>
#include <zeropoint/io/model_tensors.hpp>
#include <zeropoint/io/safetensors_reader.hpp>
#include <zeropoint/kernel/dynamic/nibble_quads.hpp>
#include <zeropoint/pass/shared_ranges.hpp>

namespace zp::inline v0::detail {

/// How a file has parameters that are parts of one tensor in PyTorch: whole in a state dict, else by the names of nodes.
enum class parts_in_file : bool { apart, whole };

/// How a network's nodes stood in files of the time before every value had a scale of its own: see pass/shared_ranges.hpp.
struct earlier_nodes {
    std::string (*signature)();
    int ranges;             // pairs of scale and zero point
    const short* range_of;  // of the network's ranges
    const short* node_of;   // of the network's nodes; -1 for those that were not there
};
/// Null where they stood as they do now.
template <class Stage> const earlier_nodes* earlier_nodes_of() {
    constexpr bool has_shared = [] {
        for (const node& n : Stage::table.nodes)
            if (n.op->inputs == input_rule::same_qparams) return true;
        return false;
    }();
    if constexpr (has_shared) {
        using shared = shared_ranges<Stage>;
        if constexpr (shared::differs) {
            static constexpr earlier_nodes nodes{
                [] { return signature_text(signature_of_nodes<Stage, shared::table>); }, shared::prepared.qparams_count,
                shared::at.range_of, shared::at.node_of};
            return &nodes;
        }
    }
    return nullptr;
}

/// Reads and checks the tensors of a network whose files have these Contents. The writing twin is model_writer.
template <file_contents Contents> class model_reader {
public:
    model_reader(const safetensors_file& file, parts_in_file parts, bool has_float_bias)
        : file_(file), parts_(parts), has_float_bias_(has_float_bias) {}

    /// `signature(bits)` is the signature of the network, 0, or of the same with other fused tables.
    /// Whether the file is an `earlier` one, which only networks have whose nodes stood otherwise, is remembered.
    [[gnu::cold]] void read_header(std::string (*signature_with)(int), const earlier_nodes* earlier) {
        if (!file_.metadata().contains(std::string_view("format")))
            fail("metadata \"format\" of \"zeropoint.int8\"",
                 "none: it is no file that zp::save wrote of an int8 network; load a float state dict as the float "
                 "model");
        if (const std::string& format = file_.expect_metadata("format"); format != "zeropoint.int8")
            fail("metadata \"format\" of \"zeropoint.int8\"",
                 joined({"\"", format, "\"; load a float state dict as the float model instead"}));
        const std::string& version = file_.expect_metadata("format_version");
        if (version != "1" && version != "2")  // 2 has checksums and names beside what 1 has
            fail("format_version 1 or 2", joined({in_quotes(version), "; a newer zeropoint may have written it"}));
        if (version == "2") file_.require_checksums();
        const std::string signature = signature_with(0);
        if (const std::string& found = file_.expect_metadata("signature"); found != signature) {
            if (earlier != nullptr && found == earlier->signature()) {
                earlier_ = earlier;
                return;
            }
            if constexpr (Contents.fused_luts)
                for (int bits = 8; bits <= 12; ++bits)
                    if (found == signature_with(bits))
                        fail(joined({"signature ", signature}),
                             joined({found, ": the tables of its fused activations have ", decimal(1 << bits),
                                     " entries each, this network's have not; load it with zp::table_bits<",
                                     decimal(bits), "> in the qconfig, or convert again"}));
            fail(joined({"signature ", signature}), joined({found, ": it was saved from ", network_in_file(),
                                                            "; load it as that, or, where layers or the qconfig have "
                                                            "changed since, convert and save again"}));
        }
    }
    [[gnu::cold]] void read_ranges(std::span<const node> nodes, std::span<qparams> ranges) {
        const file_shape shape{earlier_ != nullptr ? earlier_->ranges : static_cast<std::int64_t>(ranges.size())};
        const std::vector<float> scales = read<float>(scales_name, shape);
        const std::vector<std::int32_t> zero_points = read<std::int32_t>(zero_points_name, shape);
        for (std::size_t i = 0; i != ranges.size(); ++i) {
            const std::size_t at = earlier_ != nullptr ? static_cast<std::size_t>(earlier_->range_of[i]) : i;
            ranges[i] = {scales[at], zero_points[at]};
        }
        for (const node& n : nodes) {
            if (!n.out.is_codes()) continue;
            check_range(n.out, n.out.qparams_id, ranges);
            if (n.fused.lut_qparams_id >= 0) check_range(n.out, n.fused.lut_qparams_id, ranges);
        }
    }
    [[gnu::cold]] node_parameters read_parameters(std::span<const node> nodes, int i) {
        const node_view v{nodes.data(), nodes[static_cast<std::size_t>(i)]};
        const parameter_list list = parameters_of(v);
        node_parameters all;
        if (list.unread != nullptr) known_.push_back(tensor_name(v.n, list.unread));
        std::size_t matrices = 0, coded = 0;  // made at once: a vector that grows is a kilobyte of every program
        for (int k = 0; k != list.count; ++k) matrices += !coding_of(v, list.arrays[k]).is_float();
        all.matrices = std::vector<quantized_weights>(matrices);
        bool is_coded = false;  // the array before, to which a bias belongs
        for (int k = 0; k != list.count; ++k) {
            const parameter_array& array = list.arrays[k];
            if (array.role == parameter_role::bias && is_coded) {
                read_bias(v, array, all.matrices[coded - 1]);
                continue;
            }
            const coded_array coding = coding_of(v, array);
            is_coded = !coding.is_float();
            if constexpr (Contents.floats)
                if (!is_coded) all.vectors.push_back(read_floats(v.n, array));
            if constexpr (Contents.codes)
                if (is_coded) all.matrices[coded++] = read_coded(v.n, array, coding);
        }
        const int number = earlier_ != nullptr ? earlier_->node_of[i] : i;
        if constexpr (Contents.luts)
            if (const int size = lut_size(v); size != 0)
                all.lut = number < 0 ? identity_lut(v.n.out) : read_lut(v.n.out, table_name(v.n, number), size);
        if constexpr (Contents.lut_nodes)
            if (const int count = lut_node_count(v); count != 0)
                all.lut_nodes = read_lut_nodes(table_name(v.n, number), count);
        return all;
    }
    /// What a form says of the scales that it is packed with.
    [[gnu::cold]] void accept(const refusal& refused, const node& n) const {
        if (refused.rule == nullptr) return;
        const std::string_view name = n.name[0] != 0 ? n.name : n.op->name;
        if (refused.found == 0)
            raise<file_error>(joined({file_.source_name(), ": ", name, " (", n.op->name, "): ", refused.rule}));
        file_.fail(file_.expect(scales_name), joined({refused.rule, " at ", name}),
                   joined({"scales 2^", decimal(std::ilogb(refused.found / refused.beside)), " apart"}));
    }
    /// Of a float network, which an int8 file would only give tensors of another dtype.
    [[gnu::cold]] void expect_state_dict() const {
        const file_metadata& all = file_.metadata();
        if (const auto format = all.find("format"); format == all.end() || format->second != "zeropoint.int8") return;
        fail("a state dict of floats",
             joined({"an int8 file of ", network_in_file(),
                     "; load it as zp::quantized<Net, QConfig>, or as zp::dynamically_quantized<Net, "
                     "QConfig> where zp::quantize_dynamic made it"}));
    }
    void finish() const { file_.expect_no_other_than(known_); }

private:
    [[noreturn, gnu::cold]] void fail(std::string_view expected, std::string_view found) const {
        raise<file_error>(joined({file_.source_name(), ": expected ", expected, ", found ", found}));
    }
    /// For people: which network, where the file says so.
    [[gnu::cold]] std::string network_in_file() const {
        const file_metadata& all = file_.metadata();
        const auto of = [&](std::string_view key) { return all.find(key); };  // one search, not one a length of keys
        const auto network = of("network"), config = of("qconfig"), by = of("zeropoint");
        if (network == all.end() || config == all.end() || by == all.end())
            return "a network with other layers, or under another qconfig";
        return joined(
            {"the network ", network->second, " under the qconfig ", config->second, ", by zeropoint ", by->second});
    }
    const file_tensor& expect(const std::string& name, file_dtype dtype, const file_shape& shape) {
        known_.push_back(name);
        return file_.expect(name, dtype, shape);
    }
    template <class T> std::vector<T> read(const std::string& name, const file_shape& shape) {
        return file_.values<T>(expect(name, file_dtype_of<T>, shape));
    }
    static std::string text_of(std::integral auto value) { return decimal(value); }
    static std::string text_of(float value) { return number_text(value); }
    template <class Values, class Valid>
    void check_each(const std::string& name, const Values& values, const std::string& expected, Valid valid) const {
        for (const auto value : values)
            if (!valid(value)) file_.fail(file_.expect(name), expected, text_of(value));
    }
    static std::string from_to(std::string_view what, std::int32_t least, std::int32_t most) {
        return joined({what, " from ", decimal(least), " to ", decimal(most)});
    }
    template <class Values>
    void check_limits(const std::string& name, const Values& values, std::string_view what, std::int32_t least,
                      std::int32_t most) const {
        check_each(name, values, from_to(what, least, most), [=](auto v) { return v >= least && v <= most; });
    }
    void check_range(const value_type& codes, int id, std::span<const qparams> ranges) const {
        const qparams& range = ranges[static_cast<std::size_t>(id)];
        if (!(is_finite(range.scale) && range.scale > 0))
            file_.fail(file_.expect(scales_name), "finite scales above 0",
                       joined({number_text(range.scale), " at ", decimal(id)}));
        if (range.zero_point < codes.quant_min || range.zero_point > codes.quant_max)
            file_.fail(file_.expect(zero_points_name), from_to("zero points", codes.quant_min, codes.quant_max),
                       joined({decimal(range.zero_point), " at ", decimal(id)}));
    }

    /// As they lie inside.
    std::vector<float> read_floats(const node& n, const parameter_array& array) {
        if (!array.in_state_dict) return std::vector<float>(static_cast<std::size_t>(array.size()), array.otherwise);
        const bool is_whole = parts_ == parts_in_file::whole, is_part = n.part.name != nullptr && is_whole;
        const std::string name = is_part ? whole_name(n, array.name) : name_in_file(n, array, is_whole);
        if (array.tied_to != nullptr && is_whole) check_tied(n, array);
        file_shape shape = shape_of(array);
        if (is_part) shape.front() *= n.part.parts;
        if (array.any_shape)
            if (const file_tensor& given = file_.expect(name); std::cmp_equal(given.size(), array.size()))
                shape = given.shape;
        if (array.tied_to == nullptr || !is_whole) known_.push_back(name);  // else it is another row's
        std::vector<float> all = file_.finite_floats(name, shape);
        const float* own = all.data() + std::ptrdiff_t{is_part ? n.part.part : 0} * array.size();
        if (array.is_variance)
            for (const float& variance : all)
                if (variance < 0)
                    file_.fail(file_.expect(name), "variances of at least 0",
                               joined({number_text(variance), " of channel ", decimal(&variance - all.data())}));
        if (!is_part && array.order.is_of_files()) return all;  // of gigabytes a copy would count
        std::vector<float> inside(static_cast<std::size_t>(array.size()));
        array_from_file(array, own, inside.data());
        return inside;
    }
    /// A tensor that a state dict has twice is the same both times.
    [[gnu::cold]] void check_tied(const node& n, const parameter_array& array) const {
        const file_tensor *own = file_.find(tensor_name(n, array.name)), *tied = file_.find(array.tied_to);
        if (own == nullptr || tied == nullptr || std::ranges::equal(own->bytes, tied->bytes)) return;
        file_.fail(*own, joined({"none, or the bytes of ", in_quotes(array.tied_to), ", to which the model ties it"}),
                   "others: the file is of a model whose layers are not tied (`tied = false` of its extents)");
    }
    quantized_weights read_coded(const node& n, const parameter_array& array, const coded_array& coding) {
        const std::string name = tensor_name(n, array.name);
        const file_shape rows = shape_of_scales(n, array, coding);
        quantized_weights weights;
        weights.codes = read_codes(name, array, coding);
        if constexpr (Contents.halves)
            if (coding.has_half_scales) {
                weights.scales = read_halves(name + "_scale", rows, "scales from 2^-14 to 65504",
                                             [](float v) { return v >= least_scale && v <= largest_half; });
                if (coding.has_offsets)
                    weights.offsets =
                        read_halves(name + "_offset", rows, "offsets of 0, or from -65504 to -2^-14",
                                    [](float v) { return v == 0 || (v >= -largest_half && v <= -least_scale); });
                return weights;
            }
        if constexpr (Contents.offsets)
            if (coding.has_offsets) {
                weights.scales = read<float>(name + "_scale", rows);
                check_each(name + "_scale", weights.scales, "finite scales of at least 0",
                           [](float v) { return is_finite(v) && v >= 0; });
                known_.push_back(name + "_offset");
                weights.offsets = file_.finite_floats(name + "_offset", rows);
                return weights;
            }
        if (!coding.has_scales) return weights;
        weights.scales = read<float>(name + "_scale", rows);
        check_each(name + "_scale", weights.scales, "finite scales above 0",
                   [](float v) { return is_finite(v) && v > 0; });
        if (!coding.affine) return weights;
        weights.zero_points = read<std::int32_t>(name + "_zero_point", rows);
        check_limits(name + "_zero_point", weights.zero_points, "zero points", coding.quant_min, coding.quant_max);
        return weights;
    }
    /// Of groups of 4-bit weights: see kernel/dynamic/nibble_quads.hpp.
    template <class Valid>
    std::vector<float> read_halves(const std::string& name, const file_shape& shape, const std::string& expected,
                                   Valid valid) {
        std::vector<float> values = file_.floats(expect(name, file_dtype::F16, shape));
        check_each(name, values, expected, valid);
        return values;
    }
    /// Filters as they lie inside, rows of others as in files.
    std::vector<std::byte> read_codes(const std::string& name, const parameter_array& array,
                                      const coded_array& coding) {
        const std::string_view what = array.role == parameter_role::table ? "codes" : "weights";
        const std::int32_t least = coding.quant_min, most = coding.quant_max;
        const file_shape shape = shape_of(array, coding);
        if constexpr (Contents.codes_of_16_bits)
            if (coding.storage == scalar_type::int16) {
                const std::vector<std::int16_t> codes = read<std::int16_t>(name, shape);
                check_limits(name, codes, what, least, most);
                std::vector<std::byte> bytes(codes.size() * sizeof(std::int16_t));
                if (!bytes.empty()) std::memcpy(bytes.data(), codes.data(), bytes.size());
                return bytes;
            }
        const bool is_signed = coding.storage == scalar_type::int8;
        std::span<const std::byte> file =
            expect(name, is_signed && coding.bits() == 8 ? file_dtype::I8 : file_dtype::U8, shape).bytes;
        if (coding.has_offsets && !coding.has_groups)
            return {file.begin(), file.end()};  // each byte is two codes, or one
        std::vector<std::byte> apart;
        if constexpr (Contents.pairs)
            if (coding.bits() == 4) {
                apart = codes_of_pairs(file, array.extents[1], is_signed);
                file = span_of(apart);
            }
        for (const std::byte byte : file) {
            const auto code = std::to_integer<std::int32_t>(byte), value = is_signed && code > 127 ? code - 256 : code;
            if (value < least || value > most)
                file_.fail(file_.expect(name), from_to(what, least, most), decimal(value));
        }
        if (array.role != parameter_role::filters) return {file.begin(), file.end()};
        std::vector<std::byte> inside(file.size());
        array_from_file(array, file.data(), inside.data());
        return inside;
    }
    void read_bias(const node_view& v, const parameter_array& array, quantized_weights& weights) {
        const std::string name = tensor_name(v.n, array.name);
        const file_shape shape = shape_of(array);
        const bias_type type = bias_type_of(v, has_float_bias_);
        if constexpr (Contents.int64_biases)
            if (type == bias_type::int64) {
                weights.int64_bias = read<std::int64_t>(name, shape);
                check_each(name, weights.int64_bias, "values within 2^40", [](std::int64_t value) {
                    return value >= -(std::int64_t{1} << 40) && value <= std::int64_t{1} << 40;
                });
            }
        if constexpr (Contents.float_biases)
            if (type == bias_type::float32) {
                weights.float_bias = read<float>(name, shape);
                check_each(name, weights.float_bias, "finite values", [](float value) { return is_finite(value); });
            }
        if constexpr (Contents.int32_biases)
            if (type == bias_type::int32) {
                weights.bias = read<std::int32_t>(name, shape);
                check_each(name, weights.bias, "values within half of int32",
                           [](std::int32_t value) { return value >= -(1 << 30) && value <= 1 << 30; });
            }
    }
    std::vector<std::uint8_t> read_lut(const value_type& y, const std::string& name, int size) {
        std::vector<std::uint8_t> table = read<std::uint8_t>(name, {size});
        check_each(name, table, from_to("codes", y.quant_min, y.quant_max), [&](std::uint8_t entry) {
            const std::int32_t code =
                y.storage == scalar_type::int8 ? static_cast<std::int8_t>(entry) : std::int32_t{entry};
            return code >= y.quant_min && code <= y.quant_max;
        });
        return table;
    }
    /// Between equal ranges.
    static std::vector<std::uint8_t> identity_lut(const value_type& y) {
        std::vector<std::uint8_t> table(kernel::lookup_table_size);
        for (std::size_t i = 0; i != table.size(); ++i)
            table[i] = static_cast<std::uint8_t>(y.storage == scalar_type::int8 ? i ^ 128 : i);
        return table;
    }
    std::vector<std::int32_t> read_lut_nodes(const std::string& name, int count) {
        std::vector<std::int32_t> nodes = read<std::int32_t>(name, {count});
        check_limits(name, nodes, "values", -(1 << 24), 1 << 24);
        return nodes;
    }

    static constexpr float least_scale = kernel::least_group_scale, largest_half = kernel::largest_group_scale;

    const safetensors_file& file_;
    parts_in_file parts_;
    bool has_float_bias_;
    const earlier_nodes* earlier_ = nullptr;  // of an earlier file
    std::vector<std::string> known_;
};

/// A network as its reader sees it.
struct network_to_read {
    std::span<const node> nodes;
    const pack_function* packs;
    std::byte* parameters;
    const qparams* all_ranges;
    std::span<qparams> ranges;  // that are in the file: all or none
    parts_in_file parts;
    bool has_float_bias;
    std::string (*signature)(int);  // null for a state dict
    const earlier_nodes* earlier;
};

/// Reads, checks and packs what a network has in a file.
template <file_contents Contents> void read_nodes(const safetensors_file& file, const network_to_read& to) {
    model_reader<Contents> reader(file, to.parts, to.has_float_bias);
    if (to.signature != nullptr) reader.read_header(to.signature, to.earlier);
    else reader.expect_state_dict();
    if (to.ranges.data() != nullptr) reader.read_ranges(to.nodes, to.ranges);
    for (int i = 0; i != static_cast<int>(to.nodes.size()); ++i) {
        const node& n = to.nodes[static_cast<std::size_t>(i)];
        const pack_function pack = to.packs[i];
        if (n.at.parameter_bytes == 0 || pack == nullptr) continue;
        std::byte* block = to.parameters + n.at.parameter_offset;
        const node_parameters parameters = reader.read_parameters(to.nodes, i);
        reader.accept(pack({{to.nodes.data(), n}, to.all_ranges, block}, parameters), n);
    }
    reader.finish();
}
/// The same from a path, or from bytes that messages call `name`.
template <file_contents Contents> void read_nodes(const std::string& path, const network_to_read& to) {
    read_nodes<Contents>(safetensors_file::read(path), to);
}
template <file_contents Contents>
void read_nodes(std::span<const std::byte> bytes, const std::string& name, const network_to_read& to) {
    read_nodes<Contents>(safetensors_file::view(bytes, name), to);
}

/// The network of this type from an open file, a path, or bytes and their name. See zp::load for what is checked.
template <class Network, class... Source> Network read_network(const Source&... source) {
    using stage = typename Network::stage;
    Network model;
    network_to_read to{};
    to.nodes = Network::rows();
    to.packs = stage::packs.data();
    to.parameters = model.parameters();
    to.all_ranges = model.ranges();
    to.parts = int8_stage<stage> ? parts_in_file::apart : parts_in_file::whole;
    to.has_float_bias = has_float_bias<stage>;
    if constexpr (int8_stage<stage>) to.signature = &signature_of_stage<stage>;
    if constexpr (has_ranges<stage>) {
        to.ranges = {model.ranges(), static_cast<std::size_t>(stage::table.qparams_count)};
        if constexpr (int8_stage<stage>) to.earlier = earlier_nodes_of<stage>();
    }
    read_nodes<linked_contents_of<stage>>(source..., to);
    return model;
}

}  // namespace zp::inline v0::detail
