// SPDX-License-Identifier: BSD-3-Clause
// Counters beside inference: used codes and saturation of every row of a quantized network, or nothing at all.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/analysis/code_counts.hpp>
#include <zeropoint/model/network.hpp>

namespace zp::inline v0 {

/// One row that gives codes.
struct row_counts {
    int row = 0;                  // its number in the network
    std::string name;             // of the row, as print_tabular has it
    std::uint64_t values = 0;     // codes that were counted
    std::uint64_t saturated = 0;  // of these, cut off: see zp::saturation
    code_counts codes;            // how often each came

    /// Of its codes, in [0, 1].
    double saturated_share() const {
        return values == 0 ? 0 : static_cast<double>(saturated) / static_cast<double>(values);
    }
};

/// A quantized network that counts while it runs: `zp::counted watched(int8); watched(x, y, memory);` calls the network, and watched.rows()
/// tells. It refers to the network. Results are the network's. Several threads take one of these each, and merge them.
///
/// `zp::counted<Stage, false>` is the network's own call and a pointer, nothing else: a program says in one place whether it counts.
template <class Stage, bool On = true> class counted {
public:
    using stage = Stage;
    using workspace = typename network<Stage>::workspace;
    static constexpr bool is_on = On;  // whether it counts

    explicit counted(const network<Stage>& model) : model_(&model) {
        for (int i = 0; i != Stage::table.size; ++i) {
            const node& n = Stage::table.nodes[i];
            if (!n.out.is_codes() || n.op->is_output) continue;
            rows_.push_back({i, display_name(network<Stage>::rows(), i), 0, 0, {n.out.quant_min, n.out.quant_max}});
        }
    }
    /// As the network's call.
    template <class Input, class Output> void operator()(const Input& x, Output&& y, workspace& memory) {
        const auto xs = detail::input_side<Stage, Input>::checked(x, memory.bytes);
        const auto ys = detail::output_side<Stage, std::remove_reference_t<Output>>::checked(y);
        run(xs.data(), ys.data(), memory.bytes);
    }
    /// The same over plain pointers, without checks.
    void run(const void* const* xs, void* const* ys, std::byte* arena) {
        auto next = rows_.begin();
        model_->run(xs, ys, arena, [&](int i, const void* values) {
            if (next != rows_.end() && next->row == i) count(*next++, values);
        });
    }

    const std::vector<row_counts>& rows() const { return rows_; }
    /// Adds what another one of the same network has counted.
    void merge(const counted& other) {
        for (std::size_t r = 0; r != rows_.size(); ++r) {
            rows_[r].values += other.rows_[r].values;
            rows_[r].saturated += other.rows_[r].saturated;
            rows_[r].codes.merge(other.rows_[r].codes);
        }
    }
    /// Back to zero.
    void reset() { *this = counted(*model_); }

private:
    void count(row_counts& row, const void* values) {
        const node& n = Stage::table.nodes[row.row];
        const saturation ends(n, model_->ranges()[n.out.qparams_id]);
        const auto size = static_cast<std::size_t>(n.out.extents.size());
        row.values += size;
        for_each_code(n.out.storage, values, size, [&](std::int32_t code) {
            row.codes.add(code);
            row.saturated += ends.has(code);
        });
    }
    const network<Stage>* model_;
    std::vector<row_counts> rows_;
};
template <class Stage> class counted<Stage, false> {
public:
    using stage = Stage;
    using workspace = typename network<Stage>::workspace;
    static constexpr bool is_on = false;

    constexpr explicit counted(const network<Stage>& model) noexcept : model_(&model) {}
    template <class Input, class Output>
    void operator()(const Input& x, Output&& y, workspace& memory) const noexcept(noexcept((*model_)(x, y, memory))) {
        (*model_)(x, y, memory);
    }
    void run(const void* const* xs, void* const* ys, std::byte* arena) const noexcept { model_->run(xs, ys, arena); }
    static std::vector<row_counts> rows() { return {}; }
    void merge(const counted&) const noexcept {}
    void reset() const noexcept {}

private:
    const network<Stage>* model_;
};
template <class Stage> counted(const network<Stage>&) -> counted<Stage, true>;

/// A line for each row that counted something.
template <std::same_as<row_counts> Row> std::string to_string(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows)
        text += row.name + ": " + std::to_string(row.values) + " values, " + std::to_string(row.codes.used()) +
                " codes used, " + std::to_string(row.saturated) + " saturated\n";
    return text;
}

}  // namespace zp::inline v0
