// Int8 networks to and from files: integers in PyTorch's order, scales and zero points, tables. No layout of any
// architecture enters a file: weights are packed when it is loaded.
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
#include <vector>

#include <zeropoint/core/number_text.hpp>
#include <zeropoint/io/float_model.hpp>
#include <zeropoint/io/text.hpp>
#include <zeropoint/layer/embedding_table.hpp>
#include <zeropoint/layer/fused_table.hpp>
#include <zeropoint/layer/kernel_needs.hpp>
#include <zeropoint/layer/quantized_weights.hpp>
#include <zeropoint/layer/wide_steps.hpp>
#include <zeropoint/model/shared_ranges.hpp>
#include <zeropoint/model/signature.hpp>

namespace zp {
inline namespace v0 {

/// Of the files that this version writes. A newer one is refused, an older one is read as it was meant.
inline constexpr int int8_format_version = 1;

namespace detail {

inline constexpr const char *slot_scales = "activation.scale", *slot_zero_points = "activation.zero_point";

/// How a network's rows stood in files of the time before every value had a scale of its own: see shared_ranges.
struct earlier_rows {
    std::string (*signature)();
    int slots;             // pairs of scale and zero point
    const short* slot_of;  // of the network's slots
    const short* row_of;   // of the network's rows; -1 for those that were not there
};

/// Reads and checks the tensors of an int8 network; the writing twin is below.
class int8_reader {
public:
    explicit int8_reader(const safetensors_file& file) : file_(file) {}

    /// Whether the file is an earlier one, which only networks have whose rows were other ones. `with_table_bits(bits)` is the
    /// signature of the same network with other fused tables.
    bool read_header(const std::string& signature, const earlier_rows* earlier = nullptr,
                     std::string (*with_table_bits)(int) = nullptr) const {
        if (const std::string& format = file_.expect_metadata("format"); format != "zeropoint.int8")
            fail("metadata \"format\" of \"zeropoint.int8\"",
                 joined({"\"", format, "\"; load a float state dict as the float model instead"}));
        const std::string& version = file_.expect_metadata("format_version");
        if (version != decimal(int8_format_version))
            fail(joined({"format_version ", decimal(int8_format_version)}),
                 joined({"\"", version, "\"; a newer zeropoint may have written it"}));
        if (const std::string& found = file_.expect_metadata("signature"); found != signature) {
            if (earlier != nullptr && found == earlier->signature()) return true;
            for (int bits = 8; with_table_bits != nullptr && bits <= 12; ++bits)
                if (found == with_table_bits(bits))
                    fail(joined({"signature ", signature}),
                         joined({found, ": the tables of its fused activations have ", decimal(1 << bits),
                                 " entries each, this network's have not; load it with zp::table_bits<", decimal(bits),
                                 "> in the qconfig, or convert again"}));
            fail(joined({"signature ", signature}),
                 joined({found, ": it was saved from a network with other layers, or under another qconfig"}));
        }
        return false;
    }
    /// `earlier` is null but for an earlier file.
    void read_ranges(std::span<const node> rows, std::span<qparams> ranges, const earlier_rows* earlier) {
        const file_shape shape{earlier != nullptr ? earlier->slots : static_cast<std::int64_t>(ranges.size())};
        const std::vector<float> scales = read<float>(slot_scales, shape);
        const std::vector<std::int32_t> zero_points = read<std::int32_t>(slot_zero_points, shape);
        for (std::size_t i = 0; i != ranges.size(); ++i) {
            const std::size_t at = earlier != nullptr ? static_cast<std::size_t>(earlier->slot_of[i]) : i;
            ranges[i] = {scales[at], zero_points[at]};
        }
        for (const node& row : rows) {
            if (row.type == scalar_type::float32 || row.is_indices()) continue;
            check_range(row, row.slot, ranges);
            if (row.table_slot >= 0) check_range(row, row.table_slot, ranges);
        }
    }
    template <kernel_needs Needs> quantized_weights read_weighted(const node& row, bool has_float_bias) {
        const auto name = [&](const char* what) { return joined({row.name, ".", what}); };
        const file_shape channels{row.channels};
        quantized_weights weights;
        weights.codes.resize(static_cast<std::size_t>(row.weights));
        with_weight_type<Needs>(row, [&]<class Weight>(Weight) { read_codes<Weight>(row, name("weight"), weights); });
        weights.scales = read_scales(name("weight_scale"), channels);
        if (row.affine_weights)
            weights.zero_points = read_zero_points(name("weight_zero_point"), channels, row.weight_min, row.weight_max);
        if (Needs.wide_codes && row.wide_input) {
            weights.wide_bias = read<std::int64_t>(name("bias"), channels);
            check_each(name("bias"), weights.wide_bias, "values within 2^40",
                       [](std::int64_t v) { return v >= -(std::int64_t{1} << 40) && v <= std::int64_t{1} << 40; });
        } else if (has_float_bias) {
            weights.float_bias = read<float>(name("bias"), channels);
            check_each(name("bias"), weights.float_bias, "finite values",
                       [](float v) { return v > -infinity && v < infinity; });
        } else {
            weights.bias = read<std::int32_t>(name("bias"), channels);
            check_each(name("bias"), weights.bias, "values within half of int32",
                       [](std::int32_t v) { return v >= -(1 << 30) && v <= 1 << 30; });
        }
        if (is_table(row.activation)) weights.table = read_table(row, name("table"), fused_table_size(row));
        return weights;
    }
    /// The parameters of a described operator whose matrices are codes from `least` to `most`.
    template <class Weight> quantized_parameters read_quantized(const node& row, int least, int most, bool affine) {
        const parameter_list list = row.described->parameters(row);
        quantized_parameters all;
        for (int i = 0; i != list.count; ++i) {
            const parameter_array& array = list.arrays[i];
            const std::string name = joined({row.name, ".", array.name});
            const file_shape extents(array.extents, array.extents + array.rank);
            if (!array.matrix) {
                known_.push_back(name);
                all.vectors.push_back(file_.finite_floats(name, extents));
                continue;
            }
            const std::vector<Weight> codes = read<Weight>(name, extents);
            check_each(name, codes, from_to("weights", least, most), [=](Weight v) { return v >= least && v <= most; });
            quantized_weights& weights = all.matrices.emplace_back();
            const auto bytes = std::as_bytes(std::span(codes));
            weights.codes.assign(bytes.begin(), bytes.end());
            weights.scales = read_scales(joined({name, "_scale"}), {array.extents[0]});
            if (affine)
                weights.zero_points = read_zero_points(joined({name, "_zero_point"}), {array.extents[0]}, least, most);
        }
        return all;
    }
    /// The table of an embedding: codes of the output's grid, or codes with a scale and an offset a row, of which two of 4 bits
    /// share a byte.
    void read_embedding(const node& row, std::byte* block) {
        const std::string name = joined({row.name, ".weight"});
        if (row.type == scalar_type::uint8) return read_table_on_grid<std::uint8_t>(row, name, block);
        if (row.type == scalar_type::int8) return read_table_on_grid<std::int8_t>(row, name, block);
        if (row.type == scalar_type::int16) return read_table_on_grid<std::int16_t>(row, name, block);
        const coded_table_layout at(row);
        const std::vector<std::uint8_t> codes = read<std::uint8_t>(name, {at.rows, at.row_bytes});
        std::memcpy(block, codes.data(), codes.size());
        const std::vector<float> scales = read<float>(joined({name, "_scale"}), {at.rows}),
                                 offsets = file_.finite_floats(joined({name, "_offset"}), {at.rows});
        known_.push_back(joined({name, "_offset"}));
        check_each(joined({name, "_scale"}), scales, "finite scales of at least 0",
                   [](float v) { return v >= 0 && v < infinity; });
        auto* ranges = reinterpret_cast<kernel::embedding_row*>(block + at.ranges);
        for (std::size_t i = 0; i != scales.size(); ++i) ranges[i] = {scales[i], 0, offsets[i]};
    }
    /// The nodes of a wide_table.
    void read_nodes(const std::string& name, std::byte* block) {
        const std::vector<std::int32_t> nodes = read<std::int32_t>(name, {kernel::wide_table_nodes});
        check_each(name, nodes, "values within 2^24", [](std::int32_t v) { return v >= -(1 << 24) && v <= 1 << 24; });
        std::memcpy(block, nodes.data(), 4 * nodes.size());
    }
    std::vector<std::uint8_t> read_table(const node& row, const std::string& name,
                                         int size = kernel::lookup_table_size) {
        std::vector<std::uint8_t> table = read<std::uint8_t>(name, {size});
        check_each(name, table, from_to("codes", row.quant_min, row.quant_max), [&](std::uint8_t v) {
            const std::int32_t code = row.type == scalar_type::int8 ? static_cast<std::int8_t>(v) : std::int32_t{v};
            return code >= row.quant_min && code <= row.quant_max;
        });
        return table;
    }
    /// Scales that are valid one by one may be so far apart that no kernel can go from one to the other: the sums of
    /// weighted layers have steps of input scale * weight scale, and must not need factors of 2^31 or more.
    void check_factors(const node& row, float input, float output, const std::vector<float>& weight_scales) const {
        for (const float scale : weight_scales)
            if (!(double{input} * double{scale} < 2147483648.0 * double{output}))
                fail_factor(row, "input scales that times weight scales are below 2^31 output scales", double{input},
                            double{output});
    }
    /// The residual that a layer adds to its sums: see kernel::residual_ratio.
    void check_residual(const node& row, float residual, float input, const std::vector<float>& weight_scales) const {
        for (const float scale : weight_scales) {
            const double step = double{input} * double{scale};
            if (!kernel::is_residual_ratio(residual / step))
                fail_factor(row, "a residual's scale between 2^-100 and 2^100 times input scale * weight scale",
                            double{residual}, step);
        }
    }
    /// The operands of an add: see kernel::make_add_parameters.
    void check_operand(const node& row, float input, float output) const {
        if (!(double{input} < 2097152.0 * double{output}))
            fail_factor(row, "operands' scales below 2^21 output scales", double{input}, double{output});
    }
    /// What a described operator says of its scales.
    void check_scales(const node& row, const preparation& scales) const {
        fail_for(row.described->problem(scales), row);
    }
    void fail_for(const char* problem, const node& row) const {
        if (problem != nullptr)
            raise<file_error>(
                joined({file_.source_name(), ": ", name_of_row(row), " (", kind_of(row), "): ", problem}));
    }
    void finish() const { file_.expect_no_other_than(known_); }
    std::vector<std::string>& known() { return known_; }

private:
    [[noreturn, gnu::cold]] void fail(std::string_view expected, std::string_view found) const {
        raise<file_error>(joined({file_.source_name(), ": expected ", expected, ", found ", found}));
    }
    template <class T> std::vector<T> read(const std::string& name, const file_shape& shape) {
        known_.push_back(name);
        return file_.values<T>(file_.expect(name, file_dtype_of<T>, shape));
    }
    static std::string text_of(std::integral auto value) { return decimal(value); }
    static std::string text_of(float value) { return number_text(value); }
    template <class Values, class Valid>
    void check_each(const std::string& name, const Values& values, const std::string& expected, Valid valid) const {
        for (const auto value : values)
            if (!valid(value)) file_.fail(file_.expect(name), expected, text_of(value));
    }
    std::vector<float> read_scales(const std::string& name, const file_shape& shape) {
        std::vector<float> scales = read<float>(name, shape);
        check_each(name, scales, "finite scales above 0", [](float v) { return v > 0 && v < infinity; });
        return scales;
    }
    std::vector<std::int32_t> read_zero_points(const std::string& name, const file_shape& shape, int least, int most) {
        std::vector<std::int32_t> zero_points = read<std::int32_t>(name, shape);
        check_each(name, zero_points, from_to("zero points", least, most),
                   [=](std::int32_t v) { return v >= least && v <= most; });
        return zero_points;
    }
    template <class Weight> void read_codes(const node& row, const std::string& name, quantized_weights& weights) {
        const std::vector<Weight> codes = read<Weight>(name, weight_shape(row));
        check_each(name, codes, from_to("weights", row.weight_min, row.weight_max),
                   [&](Weight v) { return v >= row.weight_min && v <= row.weight_max; });
        weights_from_file(row, codes.data(), reinterpret_cast<Weight*>(weights.codes.data()));
    }
    template <class Code> void read_table_on_grid(const node& row, const std::string& name, std::byte* block) {
        const embedding_layer& layer = *row.described->embedding;
        const std::vector<Code> codes = read<Code>(name, {layer.rows, layer.columns});
        check_each(name, codes, from_to("codes", row.quant_min, row.quant_max),
                   [&](Code v) { return v >= row.quant_min && v <= row.quant_max; });
        std::memcpy(block, codes.data(), codes.size() * sizeof(Code));
    }
    void check_range(const node& row, int slot, std::span<const qparams> ranges) const {
        const qparams& range = ranges[static_cast<std::size_t>(slot)];
        if (!(range.scale > 0 && range.scale < infinity))
            file_.fail(file_.expect(slot_scales), "finite scales above 0",
                       joined({number_text(range.scale), " at ", decimal(slot)}));
        if (range.zero_point < row.quant_min || range.zero_point > row.quant_max)
            file_.fail(file_.expect(slot_zero_points), from_to("zero points", row.quant_min, row.quant_max),
                       joined({decimal(range.zero_point), " at ", decimal(slot)}));
    }

    static const char* name_of_row(const node& row) { return row.name[0] != 0 ? row.name : kind_of(row); }
    static std::string from_to(std::string_view what, std::int32_t least, std::int32_t most) {
        return joined({what, " from ", decimal(least), " to ", decimal(most)});
    }
    [[noreturn, gnu::cold]] void fail_factor(const node& row, std::string_view rule, double input,
                                             double output) const {
        file_.fail(file_.expect(slot_scales), joined({rule, " at ", name_of_row(row)}),
                   joined({"scales 2^", decimal(std::ilogb(input / output)), " apart"}));
    }

    const safetensors_file& file_;
    std::vector<std::string> known_;
};

/// The name of a row's table: its own, or its kind and number.
inline std::string table_name(const node& row, int number) { return joined({display_name(row, number), ".table"}); }
/// The table of a requantize between equal grids.
inline std::vector<std::uint8_t> identity_table(scalar_type codes) {
    std::vector<std::uint8_t> table(kernel::lookup_table_size);
    for (std::size_t i = 0; i != table.size(); ++i)
        table[i] = static_cast<std::uint8_t>(codes == scalar_type::int8 ? i ^ 128 : i);
    return table;
}

template <kernel_needs Needs>
void write_weighted(safetensors_writer& file, const node& row, const quantized_weights& weights) {
    const auto name = [&](const char* what) { return joined({row.name, ".", what}); };
    const file_shape channels{row.channels};
    const auto codes = [&]<class Weight>(Weight) {
        std::vector<Weight> ordered(weights.codes.size());
        weights_to_file(row, reinterpret_cast<const Weight*>(weights.codes.data()), ordered.data());
        file.add(name("weight"), weight_shape(row), ordered);
    };
    with_weight_type<Needs>(row, codes);
    file.add(name("weight_scale"), channels, weights.scales);
    if (row.affine_weights) file.add(name("weight_zero_point"), channels, weights.zero_points);
    if (row.wide_input) file.add(name("bias"), channels, weights.wide_bias);
    else if (weights.float_bias.empty()) file.add(name("bias"), channels, weights.bias);
    else file.add(name("bias"), channels, weights.float_bias);
    if (is_table(row.activation)) file.add(name("table"), {fused_table_size(row)}, weights.table);
}

/// The twin of int8_reader::read_quantized().
template <class Weight>
void write_quantized(safetensors_writer& file, const node& row, const quantized_parameters& all) {
    const parameter_list list = row.described->parameters(row);
    std::size_t matrix = 0, vector = 0;
    for (int i = 0; i != list.count; ++i) {
        const parameter_array& array = list.arrays[i];
        const std::string name = joined({row.name, ".", array.name});
        const file_shape extents(array.extents, array.extents + array.rank);
        if (!array.matrix) {
            file.add(name, extents, all.vectors[vector++]);
            continue;
        }
        const quantized_weights& weights = all.matrices[matrix++];
        const auto* codes = reinterpret_cast<const Weight*>(weights.codes.data());
        file.add(name, extents, std::vector<Weight>(codes, codes + weights.codes.size()));
        file.add(joined({name, "_scale"}), {array.extents[0]}, weights.scales);
        if (!weights.zero_points.empty())
            file.add(joined({name, "_zero_point"}), {array.extents[0]}, weights.zero_points);
    }
}

/// The twin of int8_reader::read_embedding().
inline void write_embedding(safetensors_writer& file, const node& row, const std::byte* block) {
    const std::string name = joined({row.name, ".weight"});
    const embedding_layer& layer = *row.described->embedding;
    const auto on_grid = [&]<class Code>(Code) {
        file.add(name, {layer.rows, layer.columns},
                 std::span(reinterpret_cast<const Code*>(block), static_cast<std::size_t>(row.weights)));
    };
    if (row.type == scalar_type::uint8) return on_grid(std::uint8_t{});
    if (row.type == scalar_type::int8) return on_grid(std::int8_t{});
    if (row.type == scalar_type::int16) return on_grid(std::int16_t{});
    const coded_table_layout at(row);
    file.add(name, {at.rows, at.row_bytes},
             std::span(reinterpret_cast<const std::uint8_t*>(block),
                       static_cast<std::size_t>(at.rows) * static_cast<std::size_t>(at.row_bytes)));
    std::vector<float> scales, offsets;
    const auto* ranges = reinterpret_cast<const kernel::embedding_row*>(block + at.ranges);
    for (int i = 0; i != at.rows; ++i) {
        scales.push_back(ranges[i].scale);
        offsets.push_back(ranges[i].offset);
    }
    file.add(joined({name, "_scale"}), {at.rows}, scales);
    file.add(joined({name, "_offset"}), {at.rows}, offsets);
}

template <class Network, class Predicate> constexpr bool any_row(Predicate holds) {
    for (int i = 0; i != Network::stage::table.size; ++i)
        if (holds(Network::stage::table.nodes[i])) return true;
    return false;
}

template <class Network> std::string signature_of_network() {
    return signature_text(signature_of(Network::stage::table, Network::stage::arithmetic));
}

/// The rows of an earlier file of this network; null where they were the same.
template <class Network> const earlier_rows* earlier_rows_of() {
    using shared = shared_ranges<typename Network::stage>;
    if constexpr (any_row<Network>([](const node& row) { return is_on_one_grid(row); })) {
        if constexpr (shared::differs) {
            static constexpr earlier_rows rows{
                [] { return signature_text(signature_of(shared::table, Network::stage::arithmetic)); },
                shared::prepared.slots, shared::at.slot_of, shared::at.row_of};
            return &rows;
        }
    }
    return nullptr;
}

/// What it would be with fused tables of 2^bits entries.
template <class Network> [[gnu::cold]] std::string signature_with_table_bits(int bits) {
    return signature_text(signature_of(Network::stage::table, Network::stage::arithmetic, bits));
}

}  // namespace detail

/// The int8 network of this type from an open file. See zp::load for what is checked.
template <class Network> Network read_int8_model(const safetensors_file& file) {
    using kernels = typename Network::stage::kernels;
    // What no row needs is not linked.
    constexpr bool has_matrices =
        detail::any_row<Network>([](const node& row) { return keeps_codes(row) && !is_embedding(row); });
    constexpr bool has_tables = any_keeps_table_codes(Network::stage::table.nodes, Network::stage::table.size);
    constexpr bool has_nodes = detail::any_row<Network>([](const node& row) { return is_wide_table_row(row); });
    Network model;
    detail::int8_reader reader(file);
    const std::span<const node> rows = Network::rows();
    constexpr bool has_fused_tables =
        detail::any_row<Network>([](const node& row) { return is_table(row.activation); });
    const detail::earlier_rows* const earlier = detail::earlier_rows_of<Network>();
    const bool is_earlier = reader.read_header(detail::signature_of_network<Network>(), earlier,
                                               has_fused_tables ? detail::signature_with_table_bits<Network> : nullptr);
    reader.read_ranges(rows, {model.ranges(), static_cast<std::size_t>(Network::stage::table.slots)},
                       is_earlier ? earlier : nullptr);
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const node& row = rows[i];
        if (row.parameter_bytes == 0) continue;
        const int number = is_earlier ? int{earlier->row_of[i]} : static_cast<int>(i);
        std::byte* block = model.parameters() + row.parameter_offset;
        if (has_tables && keeps_table_codes(row)) {
            if constexpr (has_tables) reader.read_embedding(row, block);
        } else if (row.type == scalar_type::float32) {
            if constexpr (kernels::needs.floats)
                detail::read_float_parameters(file, row, model.parameters(), reader.known());
        } else if (is_weighted(row.kind)) {
            const node& producer = rows[static_cast<std::size_t>(row.inputs[0])];
            const quantized_weights weights =
                reader.template read_weighted<kernels::needs>(row, kernels::requantization_policy::has_float_bias);
            const int slot = is_table(row.activation) ? row.table_slot : row.slot;
            reader.check_factors(row, model.ranges()[producer.slot].scale, rounded_scale(row, model.ranges()[slot]),
                                 weights.scales);
            if (has_residual(row))
                reader.check_residual(row, model.ranges()[rows[static_cast<std::size_t>(row.inputs[1])].slot].scale,
                                      model.ranges()[producer.slot].scale, weights.scales);
            kernels::write_weighted(row, rows.data(), weights, model.ranges(), block);
        } else if (has_nodes && is_wide_table_row(row)) {
            if constexpr (has_nodes) reader.read_nodes(detail::table_name(row, number), block);
        } else if (is_table_row(row)) {
            kernels::write_table(
                row,
                number < 0 ? detail::identity_table(row.type) : reader.read_table(row, detail::table_name(row, number)),
                block);
        } else if (has_matrices && keeps_codes(row)) {
            if constexpr (has_matrices)
                reader.fail_for(
                    row.described->quantized->pack(kernels::prepare(row, rows.data(), model.ranges(), block),
                                                   reader.template read_quantized<std::int8_t>(row, -128, 127, false)),
                    row);
        } else if (row.described != nullptr) {
            detail::read_described_parameters(file, row, block, reader.known());
            reader.check_scales(row, kernels::prepare(row, rows.data(), model.ranges(), block));
            kernels::write_derived(row, rows.data(), model.ranges(), block);
        } else {
            for (int k = 0; k != row.input_count && row.kind == op::add; ++k)
                reader.check_operand(row, model.ranges()[rows[static_cast<std::size_t>(row.inputs[k])].slot].scale,
                                     model.ranges()[row.slot].scale);
            kernels::write_derived(row, rows.data(), model.ranges(), block);
        }
    }
    reader.finish();
    return model;
}

template <class Stage>
    requires requires { typename Stage::kernels; }
safetensors_writer write_model(const network<Stage>& model) {
    using kernels = typename Stage::kernels;
    safetensors_writer file;
    file.metadata("format", "zeropoint.int8");
    file.metadata("format_version", std::to_string(int8_format_version));
    file.metadata("signature", detail::signature_of_network<network<Stage>>());
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points;
    for (int slot = 0; slot != Stage::table.slots; ++slot) {
        scales.push_back(model.ranges()[slot].scale);
        zero_points.push_back(model.ranges()[slot].zero_point);
    }
    file.add(detail::slot_scales, {Stage::table.slots}, scales);
    file.add(detail::slot_zero_points, {Stage::table.slots}, zero_points);
    const std::span<const node> rows = model.rows();
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const node& row = rows[i];
        if (row.parameter_bytes == 0) continue;
        const std::byte* block = model.parameters() + row.parameter_offset;
        if (keeps_table_codes(row)) {
            if constexpr (any_keeps_table_codes(Stage::table.nodes, Stage::table.size))
                detail::write_embedding(file, row, block);
        } else if (row.type == scalar_type::float32) {
            if constexpr (kernels::needs.floats) detail::write_float_parameters(file, row, model.parameters());
        } else if (is_weighted(row.kind))
            detail::write_weighted<kernels::needs>(
                file, row,
                kernels::read_weighted(row, rows[static_cast<std::size_t>(row.inputs[0])], model.ranges(), block));
        else if (keeps_codes(row))
            detail::write_quantized<std::int8_t>(file, row, row.described->quantized->unpack(row, block));
        else if (row.described != nullptr) detail::write_described_parameters(file, row, block);
        else if (is_wide_table_row(row))
            file.add(detail::table_name(row, static_cast<int>(i)), {kernel::wide_table_nodes},
                     std::span(reinterpret_cast<const std::int32_t*>(block), kernel::wide_table_nodes));
        else if (is_table_row(row))
            file.add(detail::table_name(row, static_cast<int>(i)), {256},
                     std::span(reinterpret_cast<const std::uint8_t*>(block), 256));
    }
    return file;
}

}  // namespace v0
}  // namespace zp
