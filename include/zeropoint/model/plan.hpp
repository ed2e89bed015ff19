// Static memory planning: a place in one arena for every activation and every row's scratch, found at compile time.
#pragma once

#include <zeropoint/core/aligned_buffer.hpp>
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

/// Offsets in the arena. Greedy by size over the lifetimes: the largest block first, each at the lowest offset that is
/// free while it lives. Needs every row's type and scratch_bytes. A float output is written to the user's memory.
template <int N> constexpr void place_activations(graph<N>& g) {
    constexpr int blocks = 2 * N;  // outputs, then scratch
    int first[blocks] = {}, last[blocks] = {}, bytes[blocks] = {}, order[blocks] = {}, placed[blocks] = {},
        offsets[blocks] = {};
    for (int i = 0; i != g.size; ++i) {
        const node& row = g.nodes[i];
        first[i] = last[i] = first[N + i] = last[N + i] = i;
        bytes[i] = static_cast<int>(align_up(static_cast<std::size_t>(row.out.size() * size_of(row.type))));
        bytes[N + i] = static_cast<int>(align_up(static_cast<std::size_t>(row.scratch_bytes)));
        for (int k = 0; k != row.input_count; ++k) last[row.inputs[k]] = i;
    }
    const int output = g.size - 1;
    if (g.nodes[output].type == scalar_type::float32 && output != 0) {
        g.nodes[output].arena_offset = in_user_output;
        bytes[output] = 0;
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
}

}  // namespace v0
}  // namespace zp
