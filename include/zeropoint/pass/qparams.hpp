// SPDX-License-Identifier: BSD-3-Clause
// A scale and a zero point for every value: which nodes of a prepared network share theirs.
#pragma once

#include <zeropoint/graph/graph.hpp>
#include <zeropoint/pass/shared_ranges.hpp>

namespace zp::inline v0 {

/// A concat gives its range to those of its inputs that nothing else reads, through whatever only picks among their values:
/// they end on its grid in any case, and so are rounded once. All other values have a range of their own, which the concat
/// requantizes.
template <int N> constexpr void share_with_only_readers(graph<N>& g) {
    int reads[N] = {};      // of a range's values, by nodes of other ranges
    bool is_fixed[N] = {};  // has a node that computes values of those in front of it, or that always has its own range
    short owner[N] = {};
    for (int i = 0; i != g.size; ++i) {
        const node& n = g.nodes[i];
        owner[i] = static_cast<short>(i);
        if (n.is_indices()) continue;
        const bool keeps = keeps_qparams(n) && !n.flags.keep_float;
        if ((keeps && !n.op->picks_values) || n.op->has_own_range) is_fixed[n.out.qparams_id] = true;
        if (n.op->is_output) ++reads[n.out.qparams_id];
        for (int k = 0; k != n.input_count; ++k)
            if (const short id = g.nodes[n.inputs[k]].out.qparams_id; id >= 0 && id != n.out.qparams_id) ++reads[id];
    }
    for (int i = 0; i != g.size; ++i) {
        const node& n = g.nodes[i];
        if (n.op->inputs != input_rule::same_qparams || n.op->has_own_range || n.flags.keep_float) continue;
        for (int k = 0; k != n.input_count; ++k) {
            const short id = g.nodes[n.inputs[k]].out.qparams_id;
            if (id < 0) continue;  // indices, which the verdict refuses
            int here = 0;          // reads by this node
            for (int j = 0; j != n.input_count; ++j) here += g.nodes[n.inputs[j]].out.qparams_id == id ? 1 : 0;
            if (!is_fixed[id] && reads[id] == here && may_share_range(g, n.inputs[k], n)) owner[id] = n.out.qparams_id;
        }
    }
    for (int i = 0; i != g.size; ++i) {
        node& n = g.nodes[i];
        if (!n.is_indices() && owner[n.out.qparams_id] != n.out.qparams_id) n.flags.observed = false;
    }
    number_qparams(g, owner);
}

/// A qparams_id (scale, zero point, observer) for every activation. Nodes that keep their input's qparams share its id.
/// `choose(node)` gives the rule of the qconfig, -1 for float32.
template <int N, class Choose> constexpr graph<N> assign_qparams(const graph<N>& fused, Choose choose) {
    graph<N> g = fused;
    for (int i = 0; i != g.size; ++i) {
        node& n = g.nodes[i];
        if (n.is_indices()) continue;  // there is no range of them
        if (n.op->is_output) {         // what it gives is its input
            const node& value = g.nodes[n.inputs[0]];
            n.config = value.config;
            n.out.qparams_id = value.out.qparams_id;
            n.flags.keep_float = true;
            continue;
        }
        const int entry = n.flags.keep_float ? -1 : choose(n);
        n.flags.keep_float = entry < 0;
        n.config = static_cast<std::int8_t>(entry < 0 ? 0 : entry);
        const bool shares = keeps_qparams(n) && !n.flags.keep_float;
        const bool derives = derives_qparams(n) && !n.flags.keep_float;
        if (shares || derives) n.config = g.nodes[n.inputs[0]].config;
        n.out.qparams_id = shares ? g.nodes[n.inputs[0]].out.qparams_id : static_cast<short>(g.qparams_count++);
        n.flags.observed = !shares && !derives;
        if (n.op->is_input) n.flags.keep_float = false;  // an input has a scale, whoever reads it
    }
    share_with_only_readers(g);
    return g;
}

}  // namespace zp::inline v0
