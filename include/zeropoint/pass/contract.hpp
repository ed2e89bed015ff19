// SPDX-License-Identifier: BSD-3-Clause
// Several nodes that are one operator together become its node; what dynamic products can do to their floats goes into them.
#pragma once

#include <zeropoint/graph/rewriter.hpp>

namespace zp::inline v0 {

/// Of nodes that operator_rules::contract makes one: which lie between that node's inputs and node `last`, so that they go.
/// False where something else reads one of them.
template <int N>
constexpr bool find_inner_nodes(const graph<N>& g, const int (&uses)[N], int last, const node& whole,
                                bool (&inner)[N]) {
    int inside[N] = {};  // how many of the nodes found read a value
    for (bool& is_inner : inner) is_inner = false;
    const auto visit = [&](const node& reader) {
        for (int k = 0; k != reader.input_count; ++k) {
            const int read = reader.inputs[k];
            bool is_input = false;
            for (int j = 0; j != whole.input_count; ++j) is_input = is_input || whole.inputs[j] == read;
            if (is_input) continue;
            inner[read] = true;
            ++inside[read];
        }
    };
    visit(g.nodes[last]);
    for (int i = last - 1; i >= 0; --i)
        if (inner[i]) {
            if (inside[i] != uses[i]) return false;
            visit(g.nodes[i]);
        }
    return true;
}

/// Nodes that are one operator together become its node where `takes(graph, i, whole, inner)` says so of the last of them, which it may
/// change.
template <int N, class Takes> constexpr graph<N> contract_nodes(const graph<N>& g, Takes takes) {
    rewriter<N, N> to(g);
    bool goes[N] = {}, inner[N] = {};
    node whole[N];
    for (int i = 0; i != g.size; ++i) {
        const operator_rules* rules = g.nodes[i].rules;
        if (rules == nullptr || rules->contract == nullptr) continue;
        if (!rules->contract(g.nodes, i, whole[i]) || !find_inner_nodes(g, to.uses, i, whole[i], inner) ||
            !takes(g, i, whole[i], inner)) {
            whole[i] = {};
            continue;
        }
        for (int j = 0; j != i; ++j) goes[j] = goes[j] || inner[j];
    }
    for (int i = 0; i != g.size; ++i) {
        if (goes[i]) continue;
        node n = whole[i].op == nullptr ? g.nodes[i] : whole[i];
        for (int k = 0; k != n.input_count; ++k) n.inputs[k] = static_cast<short>(to.moved[n.inputs[k]]);
        to.moved[i] = to.append(n);
    }
    return to.result;
}

/// Linear nodes that are the parts of one tensor over one value become the node of that tensor, where their only reader takes their
/// outputs side by side.
template <int N> constexpr graph<N> merge_parts(const graph<N>& g) {
    rewriter<N, N> to(g);
    bool goes[N] = {}, is_merged[N] = {};
    const auto are_parts = [&](const node& reader) {
        const node& first = g.nodes[reader.inputs[0]];
        if (!reader.op->takes_side_by_side || reader.input_count < 2 || first.part.parts != reader.input_count)
            return false;
        for (int k = 0; k != reader.input_count; ++k) {
            const node& n = g.nodes[reader.inputs[k]];
            if (n.part.name != first.part.name || n.part.part != k || to.uses[reader.inputs[k]] != 1 ||
                !n.fused.is_empty() || n.inputs[0] != first.inputs[0] || n.weights.count != first.weights.count)
                return false;
        }
        return true;
    };
    for (int i = 0; i != g.size; ++i)
        if (are_parts(g.nodes[i]))
            for (int k = 0; k != g.nodes[i].input_count; ++k) (k == 0 ? is_merged : goes)[g.nodes[i].inputs[k]] = true;
    for (int i = 0; i != g.size; ++i) {
        if (goes[i]) continue;
        node n = to.take(i);
        if (is_merged[i]) {
            n.out.extents.channels *= n.part.parts;
            n.weights.channels *= n.part.parts;
            n.weights.count *= n.part.parts;
            n.part = {n.part.name, 0, 1};
        } else if (n.input_count > 1 && goes[g.nodes[i].inputs[1]]) {
            n.input_count = 1;
        }
        to.moved[i] = to.append(n);
    }
    return to.result;
}

/// A function or the sum with a residual goes into the epilogue of the dynamic product of whole vectors in
/// front of it.
template <int N> constexpr graph<N> merge_epilogues(const graph<N>& g) {
    rewriter<N, N> to(g);
    for (int i = 0; i != g.size; ++i) {
        node n = to.take(i);
        const auto takes = [&](const node* before) {
            return before != nullptr && before->is_dynamic() && before->op->is_connected && before->fused.is_empty();
        };
        if ((n.op->gives & function) != 0 && n.op->function->epilogue != float_epilogue::none && n.is_float()) {
            if (node* before = to.only_read_by(i); takes(before)) {
                before->fused.function = n.op;
                to.moved[i] = n.inputs[0];
                continue;
            }
        }
        if ((n.op->gives & addend) != 0 && n.is_float() && n.fused.is_empty()) {
            const int later = n.inputs[0] > n.inputs[1] ? 0 : 1;
            if (node* before = to.only_read_by(i, later); takes(before) && n.inputs[0] != n.inputs[1]) {
                before->fused.adds_input_1 = true;
                before->from.sum = n.from.self;
                before->inputs[before->input_count++] = n.inputs[1 - later];
                to.moved[i] = n.inputs[later];
                continue;
            }
        }
        to.moved[i] = to.append(n);
    }
    return to.result;
}

}  // namespace zp::inline v0
