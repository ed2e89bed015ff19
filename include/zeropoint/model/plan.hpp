// Static memory planning: a place in one arena for every activation and every row's scratch, found at compile time.
#pragma once

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/layer/operator_description.hpp>
#include <zeropoint/model/graph.hpp>

namespace zp {
inline namespace v0 {

/// Offsets in the parameter block, in row order, each row's block aligned.
template <int N> constexpr void place_parameters(graph<N>& g) {
    int offset = 0;
    for (int i = 0; i != g.size; ++i) {
        g.nodes[i].parameter_offset = offset;
        offset += static_cast<int>(align_up(static_cast<std::size_t>(g.nodes[i].parameter_bytes)));
    }
    g.parameter_bytes = offset;
}

/// Whether a row's kernel may write its values over those of `input`: each output depends on the input at its place alone,
/// as on a residual, and has as many bytes. What windows read is for the caller to exclude.
constexpr bool may_overwrite(const node& row, const node& input) {
    const bool in_place = is_elementwise(row) || has_residual(row);
    return in_place && row.type == input.type && row.out.size() == input.out.size();
}

/// Which values lie in one place: owners[i] is the first row of those that row i shares its memory with. A view shares its
/// input's, an elementwise row that of an input which nothing reads after it, a row with a residual that of the residual
/// where it is not what the windows read as well. The user's memory is never shared.
/// last_uses[i] becomes the last row that reads what lies in the place of owner i.
template <int N> constexpr void share_places(const graph<N>& g, int (&owners)[N], int (&last_uses)[N]) {
    int reads[N] = {};  // the last reader of each row's values
    for (int i = 0; i != g.size; ++i) {
        reads[i] = i;
        for (int k = 0; k != g.nodes[i].input_count; ++k) reads[g.nodes[i].inputs[k]] = i;
    }
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        owners[i] = i;
        for (int k = 0; k != row.input_count && owners[i] == i && row.arena_offset != in_user_output; ++k) {
            const int owner = owners[row.inputs[k]];
            if (g.nodes[owner].kind == op::input) continue;
            if (has_residual(row) && owner == owners[row.inputs[0]]) continue;  // its windows read it
            if (is_view(row) || (may_overwrite(row, g.nodes[row.inputs[k]]) && last_uses[owner] == i))
                owners[i] = owner;
        }
        const int owner = owners[i];
        if (owner == i || reads[i] > last_uses[owner]) last_uses[owner] = reads[i];
    }
}

/// Offsets in the arena. Greedy by size over the lifetimes: the largest block first, each at the lowest offset that is
/// free while it lives. Needs every row's type and scratch_bytes. A float output is written to the user's memory.
template <int N> constexpr void place_activations(graph<N>& g) {
    constexpr int blocks = 2 * N;  // outputs, then scratch
    int first[blocks] = {}, last[blocks] = {}, bytes[blocks] = {}, order[blocks] = {}, placed[blocks] = {},
        offsets[blocks] = {}, owners[N] = {}, last_uses[N] = {};
    const int output = g.size - 1;
    const bool in_user_memory = g.nodes[output].type == scalar_type::float32 && output != 0;
    for (int i = 0; i != g.size; ++i) g.nodes[i].arena_offset = 0;  // where an earlier stage had its row means nothing
    if (in_user_memory) g.nodes[output].arena_offset = in_user_output;
    share_places(g, owners, last_uses);
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        first[i] = first[N + i] = last[N + i] = i;
        last[i] = last_uses[i];
        if (owners[i] == i && !(i == output && in_user_memory))
            bytes[i] = static_cast<int>(align_up(static_cast<std::size_t>(row.out.size() * size_of(row.type))));
        bytes[N + i] = static_cast<int>(align_up(static_cast<std::size_t>(row.scratch_bytes)));
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
        if (t < N) g.nodes[t].arena_offset = offset;
        else g.nodes[t - N].scratch_offset = offset;
        if (offset + bytes[t] > g.arena_bytes) g.arena_bytes = offset + bytes[t];
        int j = k;
        for (; j > 0 && offsets[placed[j - 1]] > offset; --j) placed[j] = placed[j - 1];
        placed[j] = t;
    }
    for (int i = 0; i != g.size; ++i)
        if (owners[i] != i) g.nodes[i].arena_offset = g.nodes[owners[i]].arena_offset;
}

}  // namespace v0
}  // namespace zp
