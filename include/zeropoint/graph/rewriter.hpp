// SPDX-License-Identifier: BSD-3-Clause
// How a pass makes a graph of another: uses, renumbering and provenance, written once.
#pragma once

#include <zeropoint/graph/graph.hpp>

namespace zp::inline v0 {

/// A graph of at most M nodes, made node by node from one of N.
template <int M, int N> class rewriter {
public:
    constexpr explicit rewriter(const graph<N>& from) : source(from) {
        result.error = from.error;
        result.qparams_count = from.qparams_count;
        for (int i = 0; i != from.size; ++i)
            for (int k = 0; k != from.nodes[i].input_count; ++k) ++uses[from.nodes[i].inputs[k]];
    }
    const graph<N>& source;
    graph<M> result{};
    int uses[N] = {};   // how many nodes of the source read a value
    int moved[N] = {};  // which node of the result has it

    /// A node of the source that reads the result.
    constexpr node take(int i) const {
        node n = source.nodes[i];
        for (int k = 0; k != n.input_count; ++k) n.inputs[k] = static_cast<short>(moved[n.inputs[k]]);
        return n;
    }
    /// Where the k-th input of a node of the source is made, if nothing else reads it; else null.
    constexpr node* only_read_by(int i, int k = 0) {
        const node& n = source.nodes[i];
        return k < n.input_count && uses[n.inputs[k]] == 1 ? &result.nodes[moved[n.inputs[k]]] : nullptr;
    }
    constexpr int append(const node& n) {
        result.nodes[result.size] = n;
        return result.size++;
    }
    /// Breaks a rule at the node that is appended next.
    constexpr void fail(rule broken, const shape& a, const shape& b) {
        if (result.error.broken == rule::none) result.error = {broken, result.size, a, b};
    }
};

}  // namespace zp::inline v0
