// SPDX-License-Identifier: BSD-3-Clause
// Static memory planning: a place in one arena for every activation and every node's scratch, found at compile time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/graph/ports.hpp>

namespace zp::inline v0 {

/// What parameter_bytes is where they are more than an int counts.
inline constexpr int too_many_bytes = -1;

/// Offsets in the parameter block, in node order, each node's block aligned.
template <int N> constexpr void place_parameters(graph<N>& g) {
    std::int64_t offset = 0;
    for (int i = 0; i != g.size; ++i) {
        const bool fits = offset <= std::numeric_limits<int>::max();
        g.nodes[i].at.parameter_offset = fits ? static_cast<int>(offset) : 0;
        offset += static_cast<std::int64_t>(align_up(static_cast<std::size_t>(g.nodes[i].at.parameter_bytes)));
    }
    g.parameter_bytes = offset <= std::numeric_limits<int>::max() ? static_cast<int>(offset) : too_many_bytes;
}

/// Whether a node's kernel may write its values over those of `input`: each output depends on the input at its place alone,
/// as on a residual, and has as many bytes. What windows read is for the caller to exclude.
constexpr bool may_overwrite(const node& n, const node& input) {
    const bool in_place = n.op->elementwise || n.fused.adds_input_1;
    return in_place && n.out.storage == input.out.storage && n.out.extents.size() == input.out.extents.size();
}

/// Whether the values that a node writes are those it reads: only their extents or their scale differ.
constexpr bool is_view(const node& n) {
    return n.op->is_identity || n.op->is_view || (n.op->moves_nothing && !n.is_float());
}

/// Which values lie in one place: owners[i] is the first node of those that node i shares its memory with. A view shares its
/// input's, an elementwise node that of an input which nothing reads after it, a node with a residual that of the residual
/// where it is not what the windows read as well. What lies in the user's memory is never overwritten.
/// last_uses[i] becomes the last node that reads what lies in the place of owner i.
template <int N> constexpr void share_places(const graph<N>& g, int (&owners)[N], int (&last_uses)[N]) {
    int reads[N] = {};  // the last reader of each node's values
    for (int i = 0; i != g.size; ++i) {
        reads[i] = i;
        for (int k = 0; k != g.nodes[i].input_count; ++k) reads[g.nodes[i].inputs[k]] = i;
    }
    for (int i = 0; i != g.size; ++i) {
        const node& n = g.nodes[i];
        owners[i] = i;
        for (int k = 0; k != n.input_count && owners[i] == i && !is_in_user_output(n.at.arena_offset); ++k) {
            const int owner = owners[n.inputs[k]];
            if (g.nodes[owner].op->is_input) continue;
            if (n.fused.adds_input_1 && owner == owners[n.inputs[0]]) continue;  // its windows read it
            const bool is_free = last_uses[owner] == i && !is_in_user_output(g.nodes[owner].at.arena_offset);
            if (is_view(n) || (may_overwrite(n, g.nodes[n.inputs[k]]) && is_free)) owners[i] = owner;
        }
        const int owner = owners[i];
        if (owner == i || reads[i] > last_uses[owner]) last_uses[owner] = reads[i];
    }
}

/// What comes out is written where the caller wants it: by the last node, or by who makes the value of a marked output. A value that
/// is given out twice, and an input, are copied by the output's node.
template <int N> constexpr void place_outputs(graph<N>& g) {
    for (int i = 0; i != g.size; ++i)
        g.nodes[i].at.arena_offset = 0;  // where an earlier stage had its node means nothing
    if (marked_output_count(g) == 0) {
        if (!g.nodes[g.size - 1].op->is_input) g.nodes[g.size - 1].at.arena_offset = in_user_output;
        return;
    }
    for (int i = 0; i != g.size; ++i) {
        node& n = g.nodes[i];
        if (!n.op->is_output) continue;
        n.at.arena_offset = in_user_output - port_number(n);
        node& made = g.nodes[n.inputs[0]];
        if (!made.op->is_input && !is_in_user_output(made.at.arena_offset)) made.at.arena_offset = n.at.arena_offset;
    }
}

/// Offsets in the arena. Greedy by size over the lifetimes: the largest block first, each at the lowest offset that is
/// free while it lives. Needs every node's type, scratch_bytes and state_bytes: a state that is not kept lies behind the
/// scratch. Inputs live from the beginning: a call may put there what it has to change about them.
template <int N> constexpr void place_activations(graph<N>& g) {
    constexpr int blocks = 2 * N;  // outputs, then scratch
    int first[blocks] = {}, last[blocks] = {}, bytes[blocks] = {}, order[blocks] = {}, placed[blocks] = {},
        offsets[blocks] = {}, owners[N] = {}, last_uses[N] = {};
    place_outputs(g);
    share_places(g, owners, last_uses);
    for (int i = 0; i != g.size; ++i) {
        const node& n = g.nodes[i];
        first[i] = first[N + i] = last[N + i] = i;
        if (n.op->is_input) first[i] = 0;
        last[i] = last_uses[i];
        if (owners[i] == i && !is_in_user_output(n.at.arena_offset))
            bytes[i] = static_cast<int>(align_up(static_cast<std::size_t>(n.out.extents.size()) *
                                                 static_cast<std::size_t>(size_of(n.out.storage))));
        bytes[N + i] = static_cast<int>(align_up(static_cast<std::size_t>(n.at.scratch_bytes)));
        g.nodes[i].at.state_offset = bytes[N + i];
        if (!n.flags.keeps_state) bytes[N + i] += n.at.state_bytes;
    }
    int count = 0;
    for (int t = 0; t != blocks; ++t) {
        if (bytes[t] == 0) continue;
        int k = count++;
        for (; k > 0 && bytes[order[k - 1]] < bytes[t]; --k) order[k] = order[k - 1];
        order[k] = t;
    }
    g.arena_bytes = 0;
    for (int k = 0; k != count; ++k) {  // placed[0..k) is sorted by offset
        const int t = order[k];
        int offset = 0;
        for (int j = 0; j != k; ++j) {
            const int p = placed[j];
            if (last[p] < first[t] || last[t] < first[p]) continue;  // never alive together
            if (offsets[p] >= offset + bytes[t]) break;
            if (offsets[p] + bytes[p] > offset) offset = offsets[p] + bytes[p];
        }
        offsets[t] = offset;
        if (t < N) g.nodes[t].at.arena_offset = offset;
        else g.nodes[t - N].at.scratch_offset = offset;
        if (t >= N) g.nodes[t - N].at.state_offset += offset;
        if (offset + bytes[t] > g.arena_bytes) g.arena_bytes = offset + bytes[t];
        int j = k;
        for (; j > 0 && offsets[placed[j - 1]] > offset; --j) placed[j] = placed[j - 1];
        placed[j] = t;
    }
    for (int i = 0; i != g.size; ++i)
        if (owners[i] != i) g.nodes[i].at.arena_offset = g.nodes[owners[i]].at.arena_offset;
}

/// What is kept from call to call, the states of nodes that keep them, gets places behind those of one call.
template <int N> constexpr void place_kept(graph<N>& g) {
    for (int i = 0; i != g.size; ++i) {
        node& n = g.nodes[i];
        if (!n.flags.keeps_state) continue;
        n.at.state_offset = g.arena_bytes;
        g.arena_bytes += static_cast<int>(align_up(static_cast<std::size_t>(n.at.state_bytes)));
    }
}

/// The same of states alone, in memory of their own: graph::state_bytes.
template <int N> constexpr void place_states(graph<N>& g) {
    g.state_bytes = 0;
    for (int i = 0; i != g.size; ++i) {
        if (!g.nodes[i].flags.keeps_state) continue;
        g.nodes[i].at.state_offset = g.state_bytes;
        g.state_bytes += g.nodes[i].at.state_bytes;
    }
}
/// All nodes that have states keep them: before places are found.
template <int N> constexpr void keep_states(graph<N>& g) {
    for (int i = 0; i != g.size; ++i) g.nodes[i].flags.keeps_state = g.nodes[i].op->states != nullptr;
}

}  // namespace zp::inline v0
