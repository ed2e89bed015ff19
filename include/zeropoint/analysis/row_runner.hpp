// SPDX-License-Identifier: BSD-3-Clause
// Single rows of a network, run on values that the caller brings; and which rows of the float network a quantized row stands for.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/model/network.hpp>

namespace zp::inline v0 {

/// Runs a row of a network by itself: its inputs are written where the plan has them, then its step runs.
template <class Stage> class row_runner {
public:
    /// Memory of a call: an arena, and what lies in the caller's outputs otherwise.
    row_runner() : arena_(static_cast<std::size_t>(Stage::table.arena_bytes) + 1) {
        for (const port& p : network<Stage>::outputs()) {
            outputs_.emplace_back(static_cast<std::size_t>(p.extents.size() * 4));
            output_pointers_.push_back(outputs_.back().data());
        }
        inputs_.resize(network<Stage>::inputs().size());
    }
    row_runner(const row_runner&) = delete;
    row_runner& operator=(const row_runner&) = delete;

    /// What row i makes of these inputs: `input(k)` gives the values of its k-th, in the storage that the row reads. `parameters` is a
    /// block as the network has it. The result lies in memory of this object until the next call.
    template <class Input> const void* run(int i, const std::byte* parameters, const qparams* ranges, Input&& input) {
        const node& n = Stage::table.nodes[i];
        const context c{Stage::table.nodes,      parameters,   ranges, arena_.data(), inputs_.data(),
                        output_pointers_.data(), arena_.data()};
        for (int k = 0; k != n.input_count; ++k) {
            const node& from = Stage::table.nodes[n.inputs[k]];
            const void* values = input(k);
            if (from.op->is_input) {
                inputs_[static_cast<std::size_t>(port_number(from))] = values;
                continue;
            }
            void* place = c.template out<std::byte>(from);
            const auto bytes = static_cast<std::size_t>(from.out.extents.size() * size_of(from.out.storage));
            if (place != values) std::memmove(place, values, bytes);
        }
        Stage::steps[static_cast<std::size_t>(i)](n, c);
        return c.template value<std::byte>(i);
    }

private:
    aligned_buffer arena_;
    std::vector<aligned_buffer> outputs_;
    std::vector<void*> output_pointers_;
    std::vector<const void*> inputs_;
};

/// The rows of the fused float network that one row of a quantized network computes, in their order: itself, the sum with a residual,
/// the function behind it.
struct float_rows {
    short rows[3] = {};
    int count = 0;

    constexpr explicit float_rows(const provenance& from) {
        for (const short row : {from.self, from.sum, from.lut})
            if (row >= 0) rows[count++] = row;
    }
    constexpr short last() const { return rows[count - 1]; }
};

/// Whether a row of a quantized network only changes the type or the grid of its input's values.
constexpr bool changes_grid(const node& n) { return n.op->is_boundary; }

/// The row of the float network that has the values of row i of a quantized one.
constexpr int float_value_of(const node* nodes, int i) {
    while (changes_grid(nodes[i]) || nodes[i].op->is_output) i = nodes[i].inputs[0];
    return nodes[i].from.value();
}

/// What the float rows of row `n` of a quantized network make of values of its inputs: `input(k)` gives those of its k-th. `y` becomes the
/// values of the last one; `after(r)` is called behind the r-th, with its values in y.
template <class FloatStage, class Input, class After>
void compute_in_floats(row_runner<FloatStage>& runner, const std::byte* parameters, const node& n, Input&& input,
                       float* y, After after) {
    const float_rows made(n.from);
    for (int r = 0; r != made.count; ++r) {
        const node& row = FloatStage::table.nodes[made.rows[r]];
        const auto own_input = [&](int k) -> const void* {
            if (r != 0 && row.inputs[k] == made.rows[r - 1]) return y;
            return input(r == 0 ? k : n.input_count - 1);  // the residual comes last
        };
        const void* values = runner.run(made.rows[r], parameters, nullptr, own_input);
        std::memcpy(y, values, sizeof(float) * static_cast<std::size_t>(row.out.extents.size()));
        after(r);
    }
}

/// What row i of a quantized network is called: by the name of its layer, to which a merged add or a fused function belongs; without one by
/// the operator that makes its values and that one's number in the float network; "a -> b" where values of a are brought to the grid of b.
inline std::string value_name(std::span<const node> rows, std::span<const node> floats, int i) {
    const node& n = rows[static_cast<std::size_t>(i)];
    if (!changes_grid(n) && n.name[0] != 0) return n.name;
    if (!changes_grid(n)) return display_name(floats, float_value_of(rows.data(), i));
    const int from = n.inputs[0];
    const std::string name = value_name(rows, floats, from);
    const bool is_regridded = n.out.is_codes() && rows[static_cast<std::size_t>(from)].out.is_codes();
    return is_regridded ? name + " -> " + display_name(floats, n.from.self) : name;
}

}  // namespace zp::inline v0
