// SPDX-License-Identifier: BSD-3-Clause
// What a form sees: when it runs, and when its parameters are packed.
#pragma once

#include <cstddef>
#include <cstring>

#include <zeropoint/graph/operator_info.hpp>

namespace zp::inline v0 {

/// The nodes, their parameters, their scales, and the memory of one call.
struct context {
    const node* nodes;
    const std::byte* parameters;
    const qparams* ranges;  // by qparams_id; empty in float stages
    std::byte* arena;
    const void* const* inputs;  // the caller's memory, by port
    void* const* outputs;
    std::byte* state = nullptr;    // in networks the arena; on its own the caller's
    int images = 1;                // one behind the other, of nodes whose form takes several: see model/batched.hpp
    kernel::panel_range panels{};  // what is computed of nodes whose form has a `cut` by panels

    node_view view(const node& n) const { return {nodes, n}; }
    /// The values that node i has left for its readers.
    template <class T> const T* value(int i) const {
        const node& n = nodes[i];
        if (n.op->is_input) return static_cast<const T*>(inputs[n.options[0]]);
        return out<T>(n);
    }
    /// The k-th input of a node.
    template <class T> const T* in(const node& n, int k = 0) const { return value<T>(n.inputs[k]); }
    /// Where a node writes.
    template <class T> T* out(const node& n) const {
        if (is_in_user_output(n.at.arena_offset)) return static_cast<T*>(outputs[in_user_output - n.at.arena_offset]);
        return reinterpret_cast<T*>(arena + n.at.arena_offset);
    }
    template <class T> T* scratch(const node& n) const { return reinterpret_cast<T*>(arena + n.at.scratch_offset); }
    /// The states of a node, as operator_info::states lists them.
    std::byte* state_of(const node& n) const { return state + n.at.state_offset; }
    /// The same, of zeros where they are not those that the call before left.
    std::byte* begin_state(const node& n) const {
        if (!n.flags.keeps_state) std::memset(state_of(n), 0, static_cast<std::size_t>(n.at.state_bytes));
        return state_of(n);
    }
    template <class T> const T* block(const node& n, int offset = 0) const {
        return reinterpret_cast<const T*>(parameters + n.at.parameter_offset + offset);
    }
    const qparams& range(const node& n) const { return ranges[n.out.qparams_id]; }
    const qparams& range_in(const node& n, int k = 0) const { return range(nodes[n.inputs[k]]); }
};

/// What is there when a node's block is filled: at convert, and when a file is loaded.
struct preparation {
    node_view at;           // the node among those that it reads
    const qparams* ranges;  // by qparams_id
    std::byte* block;       // the node's, aligned to buffer_alignment

    /// Of input k: storage, range of codes.
    const value_type& x_type(int k = 0) const { return at.x_type(k); }
    /// Of the output.
    const value_type& y_type() const { return at.y_type(); }
    /// Extents of input k.
    const shape& x_shape(int k = 0) const { return at.x_shape(k); }
    /// What the codes of input k mean.
    const qparams& x_qparams(int k = 0) const { return ranges[x_type(k).qparams_id]; }
    /// What the codes of the output mean.
    const qparams& y_qparams() const { return ranges[y_type().qparams_id]; }

    /// The operator's arrays as floats, one behind the other, of a node that keeps them so.
    const float* parameters() const { return reinterpret_cast<const float*>(block); }
    /// Its prepared_bytes to fill.
    std::byte* prepared() const;
};

/// Where the prepared bytes of a node lie in its block: behind its floats.
constexpr int prepared_offset(const node& n) {
    if (n.op->keeps_codes && n.out.is_codes()) return 0;
    return static_cast<int>(align_up(sizeof(float) * static_cast<std::size_t>(n.weights.count)));
}
inline std::byte* preparation::prepared() const { return block + prepared_offset(at.n); }

inline void run_nothing(const node&, const context&) noexcept {}

}  // namespace zp::inline v0
