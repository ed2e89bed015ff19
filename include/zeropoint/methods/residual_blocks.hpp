// SPDX-License-Identifier: BSD-3-Clause
// Residual blocks in the table of a network: the rows between a value and the sum that it is added to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <zeropoint/methods/channel_sites.hpp>

namespace zp::inline v0 {

/// All rows behind `entry` up to `rows.back()`, a sum; nothing else reads what is between.
struct residual_block {
    int entry = -1;
    std::vector<int> rows;  // in order of execution
};

namespace detail {

inline bool is_sum(const node& n) { return (n.op->gives & addend) != 0 && n.input_count == 2; }
inline bool is_bound_row(const node& n) {
    return (n.op->gives & bounds) != 0 && n.op->elementwise && n.input_count == 1;
}
/// Whether gradients can go through a row of a block.
inline bool takes_gradients(const node& n) {
    if (n.op->filters == filter_kernels::conv2d && n.op->multiplies) return n.input_count == 1;
    const bool is_function = n.op->function != nullptr && n.rules != nullptr && n.rules->value != nullptr;
    return is_sum(n) || is_bound_row(n) || is_function || (n.op->is_view && n.input_count == 1);
}
/// The block that ends with the sum of row `exit`; no rows where it is none.
inline residual_block block_of(std::span<const node> nodes, int exit) {
    constexpr std::size_t most_rows = 24;
    residual_block block;
    std::vector<int> pending{exit};  // rows whose values go to the exit, the last one first; none twice
    bool is_first = true;
    while (pending.size() != 1 || is_first) {
        is_first = false;
        const int row = pending.front();
        pending.erase(pending.begin());
        const node& n = nodes[static_cast<std::size_t>(row)];
        if (n.input_count == 0 || !takes_gradients(n) || block.rows.size() == most_rows) return {};
        block.rows.insert(block.rows.begin(), row);
        for (int k = 0; k != n.input_count; ++k)
            if (std::find(pending.begin(), pending.end(), n.inputs[k]) == pending.end()) pending.push_back(n.inputs[k]);
        std::sort(pending.rbegin(), pending.rend());
    }
    block.entry = pending.front();
    const auto is_inside = [&](int row) {
        return std::find(block.rows.begin(), block.rows.end(), row) != block.rows.end();
    };
    for (int i = 0; i != static_cast<int>(nodes.size()); ++i)
        for (int k = 0; k != nodes[static_cast<std::size_t>(i)].input_count; ++k) {
            const int read = nodes[static_cast<std::size_t>(i)].inputs[k];
            if (read != exit && is_inside(read) && !is_inside(i)) return {};
        }
    return block;
}

}  // namespace detail

/// The residual blocks of a fused or prepared network, `nodes` being those of its stage's `loose`: of layers with 2-D filters, bounds,
/// functions and sums. None has a row of another: of nested ones the inner ones.
inline std::vector<residual_block> find_residual_blocks(std::span<const node> nodes) {
    std::vector<residual_block> all;
    std::vector<bool> is_taken(nodes.size());
    for (int i = 0; i != static_cast<int>(nodes.size()); ++i) {
        if (!detail::is_sum(nodes[static_cast<std::size_t>(i)])) continue;
        residual_block block = detail::block_of(nodes, i);
        bool has_filters = false, overlaps = false;
        for (const int row : block.rows) {
            has_filters = has_filters || detail::has_filters(nodes[static_cast<std::size_t>(row)]);
            overlaps = overlaps || is_taken[static_cast<std::size_t>(row)];
        }
        if (!has_filters || overlaps) continue;
        for (const int row : block.rows) is_taken[static_cast<std::size_t>(row)] = true;
        all.push_back(std::move(block));
    }
    return all;
}

}  // namespace zp::inline v0
