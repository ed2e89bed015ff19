// A model as a table for people: what each row does, which algorithm computes it and why, and the bytes it takes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/layer/algorithm.hpp>
#include <zeropoint/model/budget.hpp>
#include <zeropoint/model/network.hpp>

namespace zp {
inline namespace v0 {

/// One row of a model. Texts are empty and counts 0 where they do not apply.
struct model_table_row {
    std::string operation;  // "conv2d + relu"
    std::string name;
    std::vector<int> inputs;  // numbers of rows
    shape out;
    scalar_type type = scalar_type::float32;
    std::string algorithm;  // of convolutions and linear layers in int8
    std::string why;        // that one: its estimated time and packed bytes, and those that are faster or smaller
    std::string panels;     // how many panels of output channels take which kernel; of Winograd's, how many are split
    std::int64_t packed_bytes = 0, parameter_bytes = 0, scratch_bytes = 0;
    std::int64_t output_bytes = 0, macs = 0;
    bool is_boundary = false;    // a quantize or dequantize inside of the network
    qparams quantization{0, 0};  // of codes
    int arena_offset = 0;        // of the output, or in_user_input, in_user_output
};

struct model_table {
    std::vector<model_table_row> rows;
    std::int64_t parameter_bytes = 0, arena_bytes = 0, macs = 0;
};

// What makes text of tables is a template over the table or its row: a program that prints none does not compile it.

namespace detail {

/// 12.3 us, 4.56 ms: three digits.
inline std::string time_text(double nanoseconds) {
    const char* units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    for (; nanoseconds >= 999.5 && unit != 3; ++unit) nanoseconds /= 1000;
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %s", nanoseconds, units[unit]);
    return text;
}
inline std::string bytes_text(std::size_t bytes) {
    const char* units[] = {"B", "kB", "MB", "GB"};
    auto number = static_cast<double>(bytes);
    int unit = 0;
    for (; number >= 999.5 && unit != 3; ++unit) number /= 1000;
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %s", number, units[unit]);
    return text;
}
inline std::string cost_text(const kernel::conv2d_cost& cost) {
    return time_text(cost.nanoseconds) + ", " + bytes_text(cost.packed_bytes);
}

/// Why a row has its algorithm: what it costs, and what those would that are faster or smaller. (Not the plain loops,
/// which are always slower by far.)
template <class Arch> std::string why_text(const node& row) {
    const kernel::conv2d_cost own = cost_of<Arch>(row, row.algorithm);
    std::string text = std::string(name_of(row.policy.goal)) + ": " + cost_text(own);
    for (const conv2d_algorithm other : kernel::conv2d_algorithms) {
        if (other == row.algorithm || other == conv2d_algorithm::direct || !supports(row, other)) continue;
        const kernel::conv2d_cost cost = cost_of<Arch>(row, other);
        if (cost.nanoseconds >= own.nanoseconds && cost.packed_bytes >= own.packed_bytes) continue;
        text += std::string("; ") + kernel::name_of(other) + ": " + cost_text(cost);
    }
    return text;
}
inline std::string panels_text(const kernel::conv2d_description& description) {
    std::string text;
    for (std::size_t kind = 0; kind != std::size(description.panels); ++kind) {
        if (description.panels[kind] == 0) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(description.panels[kind]) + " " +
                kernel::name_of(static_cast<kernel::panel_kernel>(kind));
    }
    if (description.split_panels != 0) text += std::to_string(description.split_panels) + " split";
    return text;
}

/// "elu(1)", "clamp(-1, 1)": a function or clamp with its constants.
template <class Node> std::string activation_text(const Node& row, op kind) {
    const float bounds[] = {row.lowest, row.highest};
    std::span<const float> constants;
    if (kind == op::activation) constants = row.function->constants;
    if (kind == op::clamp) constants = bounds;
    std::string text = kind == row.kind ? kind_of(row) : kind == op::activation ? row.function->kind : name_of(kind);
    for (std::size_t i = 0; i != constants.size(); ++i) {
        char number[32];
        std::snprintf(number, sizeof number, "%s%g", i == 0 ? "(" : ", ", double{constants[i]});
        text += number;
    }
    return constants.empty() ? text : text + ")";
}

template <class Node> model_table_row describe_row(std::span<const Node> rows, int i) {
    const Node& row = rows[static_cast<std::size_t>(i)];
    model_table_row described;
    described.operation = (row.dynamic ? "dynamic " : "") + activation_text(row, row.kind);
    if (has_coded_table(row)) described.operation += " of " + std::to_string(table_value_bits(row)) + " bits";
    if (has_residual(row)) described.operation += " + add";
    if (row.activation != op::none) described.operation += " + " + activation_text(row, row.activation);
    described.name = row.name;
    described.inputs.assign(row.inputs, row.inputs + row.input_count);
    described.out = row.out;
    described.type = row.type;
    described.parameter_bytes = row.parameter_bytes;
    described.scratch_bytes = row.scratch_bytes;
    described.output_bytes = std::int64_t{row.out.size()} * size_of(row.type);
    described.macs = macs_of(row);
    described.arena_offset = row.kind == op::input ? in_user_input : row.arena_offset;
    return described;
}

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

inline std::string scale_text(const qparams& quantization) {
    if (quantization.scale == 0) return {};
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", double{quantization.scale});
    return text;
}
inline std::string zero_point_text(const qparams& quantization) {
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
        text += (count++ == 0 ? ": " : ", ") + std::to_string(i) + " " + row.operation + " of " +
                (value.name.empty() ? value.operation : value.name);
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
    const std::span<const node> rows = model.rows();
    for (int i = 0; i != static_cast<int>(rows.size()); ++i) {
        const node& row = rows[static_cast<std::size_t>(i)];
        model_table_row described = detail::describe_row(rows, i);
        described.is_boundary = is_boundary(Stage::table, i);
        const bool codes_table = keeps_table_codes(row);
        if (row.dynamic || keeps_codes(row) || codes_table) described.packed_bytes = row.parameter_bytes;
        if constexpr (requires { Stage::why_float(row); })
            if (!row.dynamic && !codes_table) described.why = Stage::why_float(row);
        if (row.type != scalar_type::float32 && !row.is_indices()) described.quantization = model.ranges()[row.slot];
        if (row.algorithm != conv2d_algorithm::automatic) {
            described.algorithm = kernel::name_of(row.algorithm);
            described.why = detail::why_text<Arch>(row);
            described.packed_bytes = static_cast<std::int64_t>(cost_of<Arch>(row, row.algorithm).packed_bytes);
            described.panels =
                detail::panels_text(describe_row_kernels<Arch>(row, model.parameters() + row.parameter_offset));
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
        lines.push_back({std::to_string(i), row.operation, row.name, reads, zp::to_string(row.out), name_of(row.type),
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

}  // namespace v0
}  // namespace zp
