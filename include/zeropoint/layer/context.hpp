// What a step of inference sees: the rows, their parameters, their scales, and the memory of this one call.
#pragma once

#include <cstddef>

#include <zeropoint/layer/operator_description.hpp>

namespace zp {
inline namespace v0 {

struct context {
    const node* rows;
    const std::byte* parameters;
    const qparams* ranges;  // one per slot; empty in float stages
    std::byte* arena;
    const void* input;  // height x width x channels floats, or indices
    float* output;

    /// The values that row i has left for its consumers.
    template <class T> const T* value(int i) const {
        if (rows[i].kind == op::input) return reinterpret_cast<const T*>(input);
        return reinterpret_cast<const T*>(arena + rows[i].arena_offset);
    }
    /// The k-th input of a row.
    template <class T> const T* in(const node& row, int k = 0) const { return value<T>(row.inputs[k]); }
    /// Where a row writes.
    template <class T> T* out(const node& row) const {
        if (row.arena_offset == in_user_output) return reinterpret_cast<T*>(output);
        return reinterpret_cast<T*>(arena + row.arena_offset);
    }
    template <class T> T* scratch(const node& row) const { return reinterpret_cast<T*>(arena + row.scratch_offset); }
    template <class T> const T* block(const node& row, int offset = 0) const {
        return reinterpret_cast<const T*>(parameters + row.parameter_offset + offset);
    }
    const qparams& range(const node& row) const { return ranges[row.slot]; }
    const qparams& range_in(const node& row, int k = 0) const { return ranges[rows[row.inputs[k]].slot]; }
};

inline void nothing_step(const node&, const context&) noexcept {}

}  // namespace v0
}  // namespace zp
