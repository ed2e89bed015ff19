// SPDX-License-Identifier: BSD-3-Clause
// A model as a table for people: what each node does, which algorithm computes it and why, and the bytes it takes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/core/number_text.hpp>
#include <zeropoint/model/budget.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/operators/filters.hpp>

namespace zp::inline v0 {

/// One node of a model. Texts are empty and counts 0 where they do not apply.
struct model_table_row {
    std::string operation;    // "conv2d + relu"
    std::string name;         // as zp::named and the layer say
    std::string called;       // that, or its operator and number: as reports have it and qconfigs take it
    std::vector<int> inputs;  // numbers of nodes
    shape out;                // extents of the output
    scalar_type type = scalar_type::float32;  // of its values
    std::string algorithm;                    // of convolutions and linear layers in int8
    std::string why;     // that one: its estimated time and packed bytes, and those that are faster or smaller
    std::string panels;  // how many panels of output channels take which kernel; of Winograd's, how many are split
    /// Of weights as they are packed; of all parameters; of working memory.
    std::int64_t packed_bytes = 0, parameter_bytes = 0, scratch_bytes = 0;
    std::int64_t output_bytes = 0, macs = 0;  // of the output in the arena; multiply-accumulates
    bool is_boundary = false;                 // a quantize or dequantize inside of the network
    qparams quantization{0, 0};               // of codes
    int arena_offset = 0;                     // of the output, or in_user_input, in_user_output
};

/// A model as a table: see zp::table_of and zp::print_tabular.
struct model_table {
    std::vector<model_table_row> rows;  // in execution order
    /// Of the whole model: parameters, working memory of a call, multiply-accumulates.
    std::int64_t parameter_bytes = 0, arena_bytes = 0, macs = 0;
};

// What makes text of tables is a template over the table or its row: a program that prints none does not compile it.

namespace detail {

/// 12.3 us, 4.56 MB: three digits and the unit, each a thousand of the one before.
template <class = void> std::string in_units(double number, const char* const (&units)[4]) {
    int unit = 0;
    for (; number >= 999.5 && unit != 3; ++unit) number /= 1000;
    return figure(3, number) + " " + units[unit];
}
template <class = void> std::string cost_text(const kernel::conv2d_cost& cost) {
    return in_units(cost.nanoseconds, {"ns", "us", "ms", "s"}) + ", " +
           in_units(static_cast<double>(cost.packed_bytes), {"B", "kB", "MB", "GB"});
}

/// Why a node has its algorithm: what it costs, and what those would that are faster or smaller. (Not the plain loops,
/// which are always slower by far.)
template <class Arch> std::string why_text(const node_view& v) {
    const algorithm_choice& by = v.n.by;
    const kernel::conv2d_cost own = operators::cost_of<Arch>(v, by.algorithm);
    std::string text = std::string(name_of(by.policy.goal)) + ": " + cost_text(own);
    for (const conv2d_algorithm other : kernel::conv2d_algorithms) {
        if (other == by.algorithm || other == conv2d_algorithm::direct || !operators::supports(v, other)) continue;
        const kernel::conv2d_cost cost = operators::cost_of<Arch>(v, other);
        if (cost.nanoseconds >= own.nanoseconds && cost.packed_bytes >= own.packed_bytes) continue;
        text += std::string("; ") + kernel::name_of(other) + ": " + cost_text(cost);
    }
    return text;
}
template <class = void> std::string panels_text(const kernel::conv2d_description& description) {
    std::string text;
    for (std::size_t kind = 0; kind != std::size(description.panels); ++kind) {
        if (description.panels[kind] == 0) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(description.panels[kind]) + " " +
                kernel::name_of(static_cast<kernel::panel_kernel>(kind));
    }
    if (description.split_panels != 0) text += std::to_string(description.split_panels) + " split";
    return text;
}

/// "elu(1)", "clamp(-1, 1)": an operator, a function or clamp with its constants.
template <class = void> std::string operator_text(const operator_info& op, const epilogue& fused) {
    const float bounds_of_clamp[] = {fused.lowest, fused.highest};
    std::span<const float> constants;
    if (op.function != nullptr) constants = op.function->constants;
    if (&op == fused.clamp && !op.option_names.empty()) constants = bounds_of_clamp;
    std::string text = op.name;
    for (std::size_t i = 0; i != constants.size(); ++i) text += (i == 0 ? "(" : ", ") + figure(6, double{constants[i]});
    return constants.empty() ? text : text + ")";
}
/// What a node does, with all that is fused into it.
template <class View> std::string operation_text(const View& v) {
    const node& n = v.n;
    std::string text = (n.is_dynamic()       ? "dynamic "
                        : n.is_weight_only() ? "weight-only "
                                             : "") +
                       operator_text(*n.op, n.fused);
    const parameter_list list = parameters_of(v);
    int bits = 0;
    for (int i = 0; i != list.count; ++i)
        if (const coded_array coding = coding_of(v, list.arrays[i]); coding.has_offsets || coding.has_groups)
            bits = coding.bits();
    if (bits != 0) text += " of " + std::to_string(bits) + " bits";
    if (n.is_grouped()) text += " in groups of " + std::to_string(n.weights.group);
    if (n.fused.adds_input_1) text += " + add";
    if (n.fused.function != nullptr) text += " + " + std::string(n.fused.function->name);
    if (n.fused.lut != nullptr) text += " + " + operator_text(*n.fused.lut, n.fused);
    else if (n.fused.clamp != nullptr && n.fused.clamp != n.op) text += " + " + operator_text(*n.fused.clamp, n.fused);
    return text;
}
/// Whether the block of a node has codes alone, whose bytes then are all of it.
constexpr bool holds_codes(const node& n) {
    return n.is_float() ? n.weights.storage != scalar_type::float32 : n.op->keeps_codes;
}

template <class View> model_table_row describe_node(const View& v) {
    const node& n = v.n;
    model_table_row described;
    described.operation = operation_text(v);
    described.name = n.name;
    described.inputs.assign(n.inputs, n.inputs + n.input_count);
    described.out = n.out.extents;
    described.type = n.out.storage;
    described.parameter_bytes = n.at.parameter_bytes;
    described.scratch_bytes = n.at.scratch_bytes;
    described.output_bytes = std::int64_t{n.out.extents.size()} * size_of(n.out.storage);
    described.arena_offset = n.op->is_input ? in_user_input : n.at.arena_offset;
    if (holds_codes(n)) described.packed_bytes = n.at.parameter_bytes;
    return described;
}
/// Of each node, from the rules that the table of a program does not have.
template <class Stage>
inline constexpr auto macs_of_nodes = [] {
    std::array<std::int64_t, static_cast<std::size_t>(Stage::table.size)> all{};
    for (int i = 0; i != Stage::table.size; ++i) all[static_cast<std::size_t>(i)] = macs_of(Stage::loose.view(i));
    return all;
}();
/// Why a node of a dynamically quantized network stays float32; null, or empty, where that is no question.
template <class Stage>
inline constexpr auto reasons_of_nodes = [] {
    std::array<const char*, static_cast<std::size_t>(Stage::table.size)> all{};
    if constexpr (requires { Stage::why_float(Stage::loose.view(0)); })
        for (int i = 0; i != Stage::table.size; ++i)
            if (!holds_codes(Stage::table.nodes[i]))
                all[static_cast<std::size_t>(i)] = Stage::why_float(Stage::loose.view(i));
    return all;
}();

/// Columns as wide as their widest cell, numbers to the right.
template <class Lines> std::string aligned_columns(const Lines& lines, std::span<const bool> to_the_right) {
    std::vector<std::size_t> widths(to_the_right.size());
    for (const auto& line : lines)
        for (std::size_t c = 0; c != line.size(); ++c)
            if (line[c].size() > widths[c]) widths[c] = line[c].size();
    std::string text;
    for (const auto& line : lines) {
        for (std::size_t c = 0; c != line.size(); ++c) {
            const std::string padding(widths[c] - line[c].size(), ' ');
            text += to_the_right[c] ? padding + line[c] : line[c] + padding;
            text += "  ";
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

template <class = void> std::string scale_text(const qparams& quantization) {
    return quantization.scale == 0 ? std::string() : figure(6, double{quantization.scale});
}
template <class = void> std::string zero_point_text(const qparams& quantization) {
    return quantization.scale == 0 ? std::string() : std::to_string(quantization.zero_point);
}
/// "2 float/int8 boundaries: 4 dequantize (late), 6 quantize (late)": rows, with the layers whose values cross.
template <class Table> std::string boundaries_text(const Table& table) {
    std::string text;
    int count = 0;
    for (std::size_t i = 0; i != table.rows.size(); ++i) {
        const model_table_row& row = table.rows[i];
        if (!row.is_boundary) continue;
        const model_table_row& value = table.rows[static_cast<std::size_t>(row.inputs[0])];
        text += (count++ == 0 ? ": " : ", ") + std::to_string(i) + " " + row.operation + " of " + value.called;
    }
    return std::to_string(count) + " float/int8 boundaries inside" + text + "\n";
}

}  // namespace detail

/// What to_string and print_tabular show, as values. Any stage has one; algorithms and panels are those of an int8 network.
template <class Stage> model_table table_of(const network<Stage>& model) {
    using Arch = typename Stage::architecture;
    model_table all;
    all.parameter_bytes = network<Stage>::parameter_bytes;
    all.arena_bytes = network<Stage>::arena_bytes;
    all.macs = budget_of<network<Stage>>.macs;
    for (int i = 0; i != Stage::table.size; ++i) {
        const node_view v = Stage::table.view(i);
        const node& n = v.n;
        model_table_row described = detail::describe_node(v);
        described.called = display_name(n, i);
        described.is_boundary = is_boundary(Stage::table, i);
        described.macs = detail::macs_of_nodes<Stage>[static_cast<std::size_t>(i)];
        if (const char* reason = detail::reasons_of_nodes<Stage>[static_cast<std::size_t>(i)]; reason != nullptr)
            described.why = reason;
        if (n.out.is_codes()) described.quantization = model.ranges()[n.out.qparams_id];
        if (n.by.algorithm != conv2d_algorithm::automatic) {
            described.algorithm = kernel::name_of(n.by.algorithm);
            described.why = detail::why_text<Arch>(v);
            described.packed_bytes =
                static_cast<std::int64_t>(operators::cost_of<Arch>(v, n.by.algorithm).packed_bytes);
            described.panels =
                detail::panels_text(operators::describe_filters<Arch>(v, model.parameters() + n.at.parameter_offset));
        }
        all.rows.push_back(std::move(described));
    }
    return all;
}

/// The table as text, one line a row, totals below.
template <std::same_as<model_table> Table> std::string to_string(const Table& table) {
    std::vector<std::vector<std::string>> lines{{"row", "operation", "name", "reads", "output", "type", "scale",
                                                 "zero point", "MACs", "packed", "scratch", "arena", "algorithm",
                                                 "panels", "why"}};
    const auto count = [](std::int64_t bytes) { return bytes == 0 ? std::string() : std::to_string(bytes); };
    for (std::size_t i = 0; i != table.rows.size(); ++i) {
        const model_table_row& row = table.rows[i];
        std::string reads;
        for (const int input : row.inputs) reads += (reads.empty() ? "" : ", ") + std::to_string(input);
        const std::string place = row.arena_offset < 0 ? std::string("caller's")
                                                       : std::to_string(row.arena_offset) + ".." +
                                                             std::to_string(row.arena_offset + row.output_bytes);
        lines.push_back({std::to_string(i), row.operation, row.called, reads, zp::to_string(row.out), name_of(row.type),
                         detail::scale_text(row.quantization), detail::zero_point_text(row.quantization),
                         count(row.macs), count(row.packed_bytes), count(row.scratch_bytes), place, row.algorithm,
                         row.panels, row.why});
    }
    constexpr bool to_the_right[] = {true, false, false, false, false, false, false, true,
                                     true, true,  true,  false, false, false, false};
    return detail::aligned_columns(lines, to_the_right) + detail::boundaries_text(table) + std::to_string(table.macs) +
           " multiply-accumulates, " + std::to_string(table.parameter_bytes) + " bytes of parameters, " +
           std::to_string(table.arena_bytes) + " bytes of arena\n";
}

/// A network as text: see model_table_row for what is in it.
template <class Stage> std::string to_string(const network<Stage>& model) { return to_string(table_of(model)); }

/// The same, printed: PyTorch's print_tabular.
template <class Stage> void print_tabular(const network<Stage>& model, std::FILE* file = stdout) {
    std::fputs(to_string(model).c_str(), file);
}

}  // namespace zp::inline v0
