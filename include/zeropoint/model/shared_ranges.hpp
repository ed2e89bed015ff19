// Which values may have one scale, and the int8 files of the time when a concat gave its own to all that it reads.
#pragma once

#include <cstddef>

#include <zeropoint/layer/operator_description.hpp>
#include <zeropoint/model/graph.hpp>

namespace zp {
inline namespace v0 {

/// Whether a value may have the scale of a concat that reads it: one dtype, and no range that is known beforehand.
template <int N> constexpr bool may_share_range(const graph<N>& prepared, int value, const node& reader) {
    const node* row = &prepared.nodes[value];
    if (row->keep_float || row->config != reader.config) return false;
    while (keeps_qparams(*row) && !row->keep_float) row = &prepared.nodes[row->inputs[0]];
    return !has_fixed_qparams(*row) && (row->keep_float || !derives_qparams(*row));
}

/// Gives slots new numbers, in the order of their first rows. `owner[slot]` is the slot that a slot has become a part of,
/// or itself.
template <int N> constexpr void number_slots(graph<N>& g, const short (&owner)[N]) {
    short renamed[N] = {};
    short count = 0;
    for (int i = 0; i != N; ++i) renamed[i] = -1;
    for (int i = 0; i != g.size; ++i) {
        node& row = g.nodes[i];
        if (row.is_indices()) continue;
        while (owner[row.slot] != row.slot) row.slot = owner[row.slot];
        short& slot = renamed[row.slot];
        if (slot < 0) slot = count++;
        row.slot = slot;
    }
    g.slots = count;
}

/// The rows of an int8 network as its files had them when every input of a concat took the concat's scale, whoever else
/// read it: fewer slots, and no requantize where inputs now keep a scale of their own. `Stage` is the network's stage.
template <class Stage> struct shared_ranges {
    static constexpr int slots = Stage::table.slots, rows = Stage::table.size;
    struct places {
        short slot_of[slots == 0 ? 1 : slots]{};  // the slot in a file of a slot
        short row_of[rows]{};                     // the number in a file of a row, or -1
    };
    static constexpr auto prepared = [] {
        auto g = Stage::prepared;
        short owner[sizeof(g.nodes) / sizeof(node)]{};
        for (int i = 0; i != g.slots; ++i) owner[i] = static_cast<short>(i);
        const auto root = [&](short slot) {
            while (owner[slot] != slot) slot = owner[slot];
            return slot;
        };
        for (int i = 0; i != g.size; ++i) {
            const node& row = g.nodes[i];
            if (!is_on_one_grid(row) || row.keep_float) continue;
            for (int k = 0; k != row.input_count; ++k)
                if (may_share_range(g, row.inputs[k], row)) owner[root(g.nodes[row.inputs[k]].slot)] = root(row.slot);
        }
        number_slots(g, owner);
        return g;
    }();
    static constexpr bool differs = prepared.slots != slots;
    static constexpr places at = [] {
        places p;
        for (int i = 0; i != prepared.size; ++i)
            if (!prepared.nodes[i].is_indices()) p.slot_of[Stage::prepared.nodes[i].slot] = prepared.nodes[i].slot;
        short count = 0;
        for (int i = 0; i != rows; ++i) p.row_of[i] = Stage::table.nodes[i].unshared ? short{-1} : count++;
        return p;
    }();
    /// The table that the signature of such a file was made of.
    static constexpr auto table = [] {
        auto g = Stage::table;
        g.size = 0;
        g.slots = prepared.slots;
        for (int i = 0; i != rows; ++i) {
            node row = Stage::table.nodes[i];
            if (row.unshared) continue;
            for (int k = 0; k != row.input_count; ++k) {
                int input = row.inputs[k];
                while (Stage::table.nodes[input].unshared) input = Stage::table.nodes[input].inputs[0];
                row.inputs[k] = at.row_of[input];
            }
            if (row.slot >= 0) row.slot = at.slot_of[row.slot];
            if (row.table_slot >= 0) row.table_slot = at.slot_of[row.table_slot];
            g.nodes[g.size++] = row;
        }
        return g;
    }();
};

}  // namespace v0
}  // namespace zp
