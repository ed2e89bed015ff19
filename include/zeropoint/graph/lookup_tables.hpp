// SPDX-License-Identifier: BSD-3-Clause
// Which tables of functions a node has: one in place of its operator's arithmetic, or one that is fused behind its sums.
#pragma once

#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/epilogue/table_int16.hpp>

namespace zp::inline v0 {

/// Entries of a node's table of 8-bit codes, a byte each: of the function that is fused into it, or that it is; else 0.
constexpr int lut_size(const node_view& v) {
    if (v.n.fused.lut != nullptr) return 1 << v.n.fused.lut_bits;
    if (v.n.op->function == nullptr || !v.n.out.is_codes()) return 0;
    const bool is_int16 = v.x_type().storage == scalar_type::int16 || v.n.out.storage == scalar_type::int16;
    return is_int16 ? 0 : kernel::lookup_table_size;
}
/// Nodes of its table over codes of 16 bits: see kernel/epilogue/table_int16.hpp. Between two such ranges a multiplication is enough.
constexpr int lut_node_count(const node_view& v) {
    const bool has_nodes = v.n.op->function != nullptr && !v.n.op->is_boundary && v.n.out.storage == scalar_type::int16;
    return has_nodes ? kernel::table_int16_nodes : 0;
}

}  // namespace zp::inline v0
