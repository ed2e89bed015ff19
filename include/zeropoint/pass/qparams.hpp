// Who shares a scale with whom: a qparams_id for every activation.
#pragma once

#include <zeropoint/graph/graph.hpp>

namespace zp {
inline namespace v0 {

/// A qparams_id (scale, zero point, observer) for every activation. Nodes that keep their input's qparams share its id, and the
/// inputs of a concat move into the concat's where they can, so that it stays a copy.
/// `choose(node)` gives the rule of the qconfig, -1 for float32.
template <int N, class Choose> constexpr graph<N> assign_qparams(const graph<N>& fused, Choose choose) {
    graph<N> g = fused;
    bool fixed[N] = {};
    for (int i = 0; i != g.size; ++i) {
        node& n = g.nodes[i];
        if (n.is_indices()) continue;  // there is no range of them
        const int entry = n.flags.keep_float ? -1 : choose(n);
        n.flags.keep_float = entry < 0;
        n.config = static_cast<std::int8_t>(entry < 0 ? 0 : entry);
        const bool shares = keeps_qparams(n) && !n.flags.keep_float;
        const bool derives = derives_qparams(n) && !n.flags.keep_float;
        if (shares || derives) n.config = g.nodes[n.inputs[0]].config;
        n.out.qparams_id = shares ? g.nodes[n.inputs[0]].out.qparams_id : static_cast<short>(g.qparams_count++);
        n.flags.observed = !shares && !derives;
        if (!shares) fixed[n.out.qparams_id] = derives || has_known_range(n);
        if (i == 0) n.flags.keep_float = false;  // the input has a scale, whoever reads it
        if (n.op->inputs != input_rule::same_qparams || n.flags.keep_float) continue;
        for (int k = 0; k != n.input_count; ++k) {
            node& x = g.nodes[n.inputs[k]];
            if (x.out.qparams_id == n.out.qparams_id) {
                x.flags.observed = false;
                continue;
            }
            if (x.flags.keep_float || x.config != n.config || fixed[x.out.qparams_id]) continue;
            x.flags.observed = false;
            for (int j = 0, id = x.out.qparams_id; j != i; ++j)
                if (g.nodes[j].out.qparams_id == id) g.nodes[j].out.qparams_id = n.out.qparams_id;
        }
    }
    short renamed[N] = {};  // close the gaps that moved ids have left; 0: not met yet
    short count = 0;
    for (int i = 0; i != g.size; ++i) {
        short& id = g.nodes[i].out.qparams_id;
        if (id < 0) continue;
        if (renamed[id] == 0) renamed[id] = ++count;
        id = static_cast<short>(renamed[id] - 1);
    }
    g.qparams_count = count;
    return g;
}

}  // namespace v0
}  // namespace zp
