// SPDX-License-Identifier: BSD-3-Clause
// The table a model is: nodes in execution order and the totals that planning found.
#pragma once

#include <zeropoint/core/nearest_name.hpp>
#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/graph/row_name.hpp>
#include <zeropoint/graph/rule.hpp>

namespace zp::inline v0 {

/// N nodes as plain arrays: constant evaluation is an interpreter, and every operator[] of a class is a call to it.
template <int N> struct graph {
    node nodes[N]{};
    int size = 0;
    int qparams_count = 0;  // pairs of scale and zero point
    int arena_bytes = 0;    // activations and scratch
    int parameter_bytes = 0;
    int state_bytes = 0;  // of what is kept outside of the arena: see place_states
    diagnostic error{};

    constexpr const node* begin() const { return nodes; }
    constexpr const node* end() const { return nodes + size; }
    /// Of a graph without marked outputs its only one: see graph/ports.hpp.
    constexpr const node& output() const { return nodes[size - 1]; }
    constexpr node_view view(int i) const { return {nodes, nodes[i]}; }
};

/// What messages call the node that broke a rule.
template <int N> constexpr void name_culprit(graph<N>& g) {
    diagnostic& error = g.error;
    if (error.broken == rule::none || error.name != nullptr || error.row < 0 || error.row >= g.size) return;
    const node& n = g.nodes[error.row];
    const bool is_named = n.name[0] != 0;
    error.name = is_named ? n.name : n.op->name;
    error.number = is_named ? -1 : number_of_row(n, error.row);
}

/// The same graph in a table of exactly its size: what is stored in the program.
template <int M, int N> constexpr graph<M> shrink(const graph<N>& wide) {
    graph<M> tight;
    for (int i = 0; i != wide.size; ++i) tight.nodes[i] = wide.nodes[i];
    tight.size = wide.size;
    tight.qparams_count = wide.qparams_count;
    tight.arena_bytes = wide.arena_bytes;
    tight.parameter_bytes = wide.parameter_bytes;
    tight.state_bytes = wide.state_bytes;
    tight.error = wide.error;
    name_culprit(tight);
    return tight;
}

/// The node that is called so, or -1. Outputs have names of their own.
template <int N> constexpr int node_named(const graph<N>& g, const char* name) {
    for (int i = 0; i != g.size; ++i)
        if (!g.nodes[i].op->is_output && is_called(g.nodes[i], name)) return i;
    return -1;
}

/// What was probably meant by a name that no row has; empty where none is near.
template <int N> constexpr row_text nearest_row(const graph<N>& g, std::string_view wrong) {
    name_search search(wrong);
    row_text nearest;
    for (int i = 0; i != g.size; ++i)
        if (const row_text name = text_of_row(g.nodes[i], i);
            !g.nodes[i].op->is_output && search.is_nearer(name.view()))
            nearest = name;
    return nearest;
}

}  // namespace zp::inline v0
