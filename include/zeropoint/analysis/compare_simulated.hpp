// SPDX-License-Identifier: BSD-3-Clause
// Simulated networks, which are the fake-quantized ones, beside the integers that they stand for, and beside each other.
#pragma once

#include <cstddef>
#include <vector>

#include <zeropoint/analysis/compare.hpp>
#include <zeropoint/analysis/simulated.hpp>

namespace zp::inline v0 {
namespace detail {

/// Rows of a quantized network that make values or bring them to a grid, with nothing compared yet. Scales are those of `ranges`.
template <class Simulated> std::vector<row_comparison> rows_to_compare(const qparams* ranges) {
    std::vector<row_comparison> rows;
    for (int i = 0; i != static_cast<int>(Simulated::rows().size()); ++i) {
        const node& n = Simulated::rows()[static_cast<std::size_t>(i)];
        if (n.op->is_output || n.op->is_input || (changes_grid(n) && n.is_float())) continue;
        rows.push_back(row_to_compare(Simulated::rows(), Simulated::float_type::rows(), ranges, i));
    }
    return rows;
}

}  // namespace detail

/// `second` beside `first`, row by row: the same network with other switches, so that one with everything off is the float one. Figures are
/// those of zp::compare without weights and codes; `batches` likewise.
template <class Net, class QConfig, class Arch, class Batches>
comparison compare(const simulated<Net, QConfig, Arch>& first, const simulated<Net, QConfig, Arch>& second,
                   const Batches& batches) {
    using type = simulated<Net, QConfig, Arch>;
    comparison all;
    all.rows = detail::rows_to_compare<type>(first.ranges());
    typename type::workspace memory, other;
    detail::output_buffers<type> outputs;
    detail::for_each_input<typename type::stage>(batches, [&](const void* const* xs) {
        first.run(xs, outputs.pointers.data(), memory);
        second.run(xs, outputs.pointers.data(), other);
        for (row_comparison& row : all.rows) {
            const auto count = static_cast<std::size_t>(row.out.size());
            row.values.template add<Arch>({first.values(row.row, memory), count}, second.values(row.row, other),
                                          row.name);
        }
        ++all.inputs;
    });
    return all;
}

/// The quantized network beside its simulation: how many steps the codes of each row are apart from those that the simulated values stand
/// for. `row.values.max_error() / row.quantization.scale` is the largest number of steps, the square of row.rmse_in_steps() the share of
/// codes that differ where none differs by more than one.
template <class Net, class QConfig, class Arch, class Batches>
comparison compare(const simulated<Net, QConfig, Arch>& fake,
                   const network<stage<quantized_nodes<Net, QConfig, Arch>>>& int8, const Batches& batches) {
    using type = simulated<Net, QConfig, Arch>;
    using int8_type = typename type::quantized_type;
    comparison all;
    all.rows = detail::rows_to_compare<type>(int8.ranges());
    typename type::workspace memory;
    detail::output_buffers<type> outputs;
    aligned_buffer arena(static_cast<std::size_t>(int8_type::arena_bytes) + 1);
    std::vector<float> rounded;
    std::vector<aligned_buffer> codes;  // of ports of codes
    for (const port& p : int8_type::inputs()) codes.emplace_back(static_cast<std::size_t>(p.extents.size()) * 2);
    detail::for_each_input<typename type::stage>(batches, [&](const void* const* xs) {
        fake.run(xs, outputs.pointers.data(), memory);
        std::vector<const void*> inputs(xs, xs + codes.size());
        for (std::size_t p = 0; p != codes.size(); ++p) {
            const value_type& type_here = int8_type::rows()[static_cast<std::size_t>(int8_type::inputs()[p].node)].out;
            if (!type_here.is_codes()) continue;
            detail::floats_to_values<Arch>(type_here, int8.ranges()[type_here.qparams_id],
                                           static_cast<const float*>(xs[p]),
                                           static_cast<std::size_t>(type_here.extents.size()), codes[p].data());
            inputs[p] = codes[p].data();
        }
        auto next = all.rows.begin();
        int8.run(inputs.data(), outputs.pointers.data(), arena.data(), [&](int i, const void* values) {
            if (next == all.rows.end() || next->row != i) return;
            row_comparison& row = *next++;
            const auto count = static_cast<std::size_t>(row.out.size());
            rounded.resize(count);
            const value_type& own = int8_type::rows()[static_cast<std::size_t>(i)].out;
            detail::values_to_floats<Arch>(own, row.quantization, values, count, rounded.data());
            row.values.template add<Arch>({fake.values(i, memory), count}, rounded.data(), row.name);
        });
        ++all.inputs;
    });
    return all;
}

}  // namespace zp::inline v0
