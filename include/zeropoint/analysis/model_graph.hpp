// SPDX-License-Identifier: BSD-3-Clause
// A model as a graph for people: the rows of its table in Graphviz's DOT language.
#pragma once

#include <concepts>
#include <string>

#include <zeropoint/analysis/model_table.hpp>

namespace zp::inline v0 {
namespace detail {

/// Text between DOT's double quotes.
template <class = void> std::string dot_text(const std::string& text) {
    std::string quoted;
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted;
}

}  // namespace detail

/// `dot -Tsvg` draws it: a box a row with its operation, name, extents and type, an arrow for every value that is read.
/// Rows in floats are round, boundaries between floats and codes are drawn bold.
template <std::same_as<model_table> Table> std::string to_dot(const Table& table) {
    std::string text = "digraph model {\n    node [shape=box, fontname=\"monospace\"];\n";
    for (std::size_t i = 0; i != table.rows.size(); ++i) {
        const model_table_row& row = table.rows[i];
        std::string label = detail::dot_text(row.operation);
        if (!row.name.empty()) label += "\\n" + detail::dot_text(row.name);
        label += "\\n" + zp::to_string(row.out) + " " + name_of(row.type);
        if (row.quantization.scale != 0)
            label += "\\n" + detail::scale_text(row.quantization) + ", " + detail::zero_point_text(row.quantization);
        if (!row.algorithm.empty()) label += "\\n" + detail::dot_text(row.algorithm);
        text += "    row" + std::to_string(i) + " [label=\"" + label + "\"";
        if (row.type == scalar_type::float32) text += ", style=rounded";
        if (row.is_boundary) text += ", penwidth=3";
        text += "];\n";
        for (const int input : row.inputs)
            text += "    row" + std::to_string(input) + " -> row" + std::to_string(i) + ";\n";
    }
    return text + "}\n";
}
/// Of any stage of a model.
template <class Stage> std::string to_dot(const network<Stage>& model) { return to_dot(table_of(model)); }

}  // namespace zp::inline v0
