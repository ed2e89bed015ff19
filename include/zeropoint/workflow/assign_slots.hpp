// A scale and a zero point for every value: which rows of a prepared network share theirs.
#pragma once

#include <zeropoint/model/graph.hpp>
#include <zeropoint/model/shared_ranges.hpp>

namespace zp {
inline namespace v0 {

/// A concat gives its slot to those of its inputs that nothing else reads, through whatever only picks among their values:
/// they end on its grid in any case, and so are rounded once. All other values have a slot of their own, which the concat
/// requantizes.
template <int N> constexpr void share_with_only_readers(graph<N>& g) {
    int reads[N] = {};      // of a slot's values, by rows of other slots
    bool is_fixed[N] = {};  // has a row that computes values of those in front of it, or that always has its own range
    short owner[N] = {};
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        owner[i] = static_cast<short>(i);
        if (row.is_indices()) continue;
        const bool keeps = keeps_qparams(row) && !row.keep_float;
        if ((keeps && !picks_values(row)) || has_own_range(row)) is_fixed[row.slot] = true;
        for (int k = 0; k != row.input_count; ++k)
            if (const short slot = g.nodes[row.inputs[k]].slot; slot >= 0 && slot != row.slot) ++reads[slot];
    }
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        if (!is_on_one_grid(row) || has_own_range(row) || row.keep_float) continue;
        for (int k = 0; k != row.input_count; ++k) {
            const short slot = g.nodes[row.inputs[k]].slot;
            if (slot < 0) continue;  // indices, which the verdict refuses
            int here = 0;            // reads by this row
            for (int j = 0; j != row.input_count; ++j) here += g.nodes[row.inputs[j]].slot == slot ? 1 : 0;
            if (!is_fixed[slot] && reads[slot] == here && may_share_range(g, row.inputs[k], row))
                owner[slot] = row.slot;
        }
    }
    for (int i = 0; i != g.size; ++i) {
        node& row = g.nodes[i];
        if (!row.is_indices() && owner[row.slot] != row.slot) row.observed = false;
    }
    number_slots(g, owner);
}

/// A slot (scale, zero point, observer) for every activation. Rows that keep their input's qparams share its slot.
/// `choose(row)` gives the entry of the qconfig, -1 for float32.
template <int N, class Choose> constexpr graph<N> assign_slots(const graph<N>& fused, Choose choose) {
    graph<N> g = fused;
    for (int i = 0; i != g.size; ++i) {
        node& row = g.nodes[i];
        if (row.is_indices()) continue;  // no slot: there is no range of them
        const int entry = row.keep_float ? -1 : choose(row);
        row.keep_float = entry < 0;
        row.config = static_cast<std::int8_t>(entry < 0 ? 0 : entry);
        const bool shares = keeps_qparams(row) && !row.keep_float;
        const bool derives = derives_qparams(row) && !row.keep_float;
        if (shares || derives) row.config = g.nodes[row.inputs[0]].config;
        row.slot = shares ? g.nodes[row.inputs[0]].slot : static_cast<short>(g.slots++);
        row.observed = !shares && !derives;
        if (i == 0) row.keep_float = false;  // the input has a scale, whoever reads it
    }
    share_with_only_readers(g);
    return g;
}

}  // namespace v0
}  // namespace zp
