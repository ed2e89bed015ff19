// SPDX-License-Identifier: BSD-3-Clause
// Which values may have one scale, and the int8 files of the time when a concat gave its own to all that it reads.
#pragma once

#include <zeropoint/graph/graph.hpp>

namespace zp::inline v0 {

/// Whether a value may have the scale of a concat that reads it: one dtype, and no range that is known beforehand.
template <int N> constexpr bool may_share_range(const graph<N>& prepared, int value, const node& reader) {
    const node* n = &prepared.nodes[value];
    if (n->flags.keep_float || n->config != reader.config) return false;
    while (keeps_qparams(*n) && !n->flags.keep_float) n = &prepared.nodes[n->inputs[0]];
    return !has_known_range(*n) && (n->flags.keep_float || !derives_qparams(*n));
}

/// Gives ranges new numbers, in the order of their first nodes. `owner[id]` is the one that an id has become a part of, or
/// itself.
template <int N> constexpr void number_qparams(graph<N>& g, const short (&owner)[N]) {
    short renamed[N] = {};  // 0: not met yet
    short count = 0;
    for (int i = 0; i != g.size; ++i) {
        short& id = g.nodes[i].out.qparams_id;
        if (id < 0) continue;
        while (owner[id] != id) id = owner[id];
        if (renamed[id] == 0) renamed[id] = ++count;
        id = static_cast<short>(renamed[id] - 1);
    }
    g.qparams_count = count;
}

/// The nodes of an int8 network as its files had them when every input of a concat took the concat's scale, whoever else
/// read it: fewer ranges, and no requantize where inputs now keep a scale of their own. `Stage` is the network's stage.
template <class Stage> struct shared_ranges {
    static constexpr int ranges = Stage::table.qparams_count, nodes = Stage::table.size;
    struct places {
        short range_of[ranges == 0 ? 1 : ranges]{};  // the number in a file of a range
        short node_of[nodes]{};                      // the number in a file of a node, or -1
    };
    static constexpr auto prepared = [] {
        auto g = Stage::prepared;
        short owner[sizeof(g.nodes) / sizeof(node)]{};
        for (int i = 0; i != g.qparams_count; ++i) owner[i] = static_cast<short>(i);
        const auto root = [&](short id) {
            while (owner[id] != id) id = owner[id];
            return id;
        };
        for (int i = 0; i != g.size; ++i) {
            const node& n = g.nodes[i];
            if (n.op->inputs != input_rule::same_qparams || n.flags.keep_float) continue;
            for (int k = 0; k != n.input_count; ++k)
                if (may_share_range(g, n.inputs[k], n))
                    owner[root(g.nodes[n.inputs[k]].out.qparams_id)] = root(n.out.qparams_id);
        }
        number_qparams(g, owner);
        return g;
    }();
    static constexpr bool differs = prepared.qparams_count != ranges;
    static constexpr places at = [] {
        places p;
        for (int i = 0; i != prepared.size; ++i)
            if (!prepared.nodes[i].is_indices())
                p.range_of[Stage::prepared.nodes[i].out.qparams_id] = prepared.nodes[i].out.qparams_id;
        short count = 0;
        for (int i = 0; i != nodes; ++i) p.node_of[i] = Stage::table.nodes[i].flags.unshared ? short{-1} : count++;
        return p;
    }();
    /// The table that the signature of such a file was made of.
    static constexpr auto table = [] {
        auto g = Stage::table;
        g.size = 0;
        g.qparams_count = prepared.qparams_count;
        for (int i = 0; i != nodes; ++i) {
            node n = Stage::table.nodes[i];
            if (n.flags.unshared) continue;
            for (int k = 0; k != n.input_count; ++k) {
                int input = n.inputs[k];
                while (Stage::table.nodes[input].flags.unshared) input = Stage::table.nodes[input].inputs[0];
                n.inputs[k] = at.node_of[input];
            }
            if (n.out.qparams_id >= 0) n.out.qparams_id = at.range_of[n.out.qparams_id];
            if (n.fused.lut_qparams_id >= 0) n.fused.lut_qparams_id = at.range_of[n.fused.lut_qparams_id];
            g.nodes[g.size++] = n;
        }
        return g;
    }();
};

}  // namespace zp::inline v0
