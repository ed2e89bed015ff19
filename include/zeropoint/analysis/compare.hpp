// SPDX-License-Identifier: BSD-3-Clause
// Runs a float and a quantized network over a stream of inputs and compares them row by row, in memory that does not grow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/analysis/coded_arrays.hpp>
#include <zeropoint/analysis/comparison.hpp>
#include <zeropoint/analysis/grid_values.hpp>
#include <zeropoint/analysis/input_stream.hpp>
#include <zeropoint/analysis/row_runner.hpp>
#include <zeropoint/workflow/fuse.hpp>

namespace zp::inline v0 {
namespace detail {

/// Floats beside the codes that stand for them, per channel.
inline weight_comparison compare_weights(const coded_values& weights) {
    weight_comparison result;
    result.name = weights.array.name[0] == 0 ? "weight" : weights.array.name;
    result.count = weights.floats.size();
    result.quant_min = weights.quant_min;
    result.quant_max = weights.quant_max;
    result.codes = code_counts(weights.quant_min, weights.quant_max);
    pair_statistics all(1);
    all.add(weights.floats, weights.rounded.data(), result.name);
    result.sqnr = all.sqnr();
    result.cosine = all.cosine();
    result.mean_error = all.mean_error();
    result.max_error = all.max_error();
    result.histogram = all.histogram();
    std::uint64_t saturated = 0;
    for (const int code : weights.codes) {
        result.codes.add(code);
        saturated += code == weights.quant_min || code == weights.quant_max;
    }
    result.used_codes = result.codes.used();
    result.saturated_share = static_cast<double>(saturated) / static_cast<double>(weights.codes.size());
    const std::size_t scales = weights.scales.size();
    for (std::size_t c = 0; c != weights.channels; ++c) {
        const std::span<const float> floats = weights.floats_of(c);
        pair_statistics own(1);
        own.add(floats, weights.rounded_of(c).data(), result.name);
        const auto first = scales == 1
                               ? weights.scales.begin()
                               : weights.scales.begin() + static_cast<std::ptrdiff_t>(c * (scales / weights.channels));
        const float scale =
            scales <= 1 ? *first
                        : *std::max_element(first, first + static_cast<std::ptrdiff_t>(scales / weights.channels));
        const std::size_t zero_points = weights.zero_points.size();
        result.channels.push_back({*std::min_element(floats.begin(), floats.end()),
                                   *std::max_element(floats.begin(), floats.end()), scale,
                                   zero_points == 0 ? 0 : weights.zero_points[zero_points == 1 ? 0 : c], own.sqnr()});
    }
    return result;
}

/// Row i of a quantized network, with nothing compared yet.
inline row_comparison row_to_compare(std::span<const node> rows, std::span<const node> floats, const qparams* ranges,
                                     int i) {
    const node& n = rows[static_cast<std::size_t>(i)];
    row_comparison row;
    row.row = i;
    row.name = value_name(rows, floats, i);
    row.operation = operation_text(node_view{rows.data(), n});
    row.computes = !changes_grid(n) && !n.op->is_input;
    if (!changes_grid(n)) row.layer = n.name;
    row.out = n.out.extents;
    row.type = n.out.storage;
    row.values = pair_statistics(n.out.extents.channels);
    if (n.out.is_codes()) {
        row.quantization = ranges[n.out.qparams_id];
        row.quant_min = n.out.quant_min;
        row.quant_max = n.out.quant_max;
    }
    return row;
}

/// Arrays one behind the other, of so many bytes each.
class value_store {
public:
    value_store() = default;
    template <class Bytes> value_store(std::size_t count, Bytes bytes_of) : offsets_(1) {
        for (std::size_t i = 0; i != count; ++i) offsets_.push_back(align_up(offsets_.back() + bytes_of(i)));
        memory_ = aligned_buffer(offsets_.back());
    }
    std::byte* at(std::size_t i) { return memory_.data() + offsets_[i]; }

private:
    std::vector<std::size_t> offsets_;
    aligned_buffer memory_;
};

}  // namespace detail

/// Compares while inputs come, one at a time: what zp::compare runs. It refers to both networks.
template <class FloatStage, class Int8Stage> class comparer {
    static constexpr const auto &floats_ = FloatStage::table, &codes_ = Int8Stage::table;
    static constexpr auto size = static_cast<std::size_t>(codes_.size);
    using arch = typename Int8Stage::architecture;

public:
    static_assert(std::is_same_v<typename FloatStage::net, typename Int8Stage::net>,
                  "zp::compare(floats, int8, batches): both must be of the same model");

    comparer(const network<FloatStage>& floats, const network<Int8Stage>& int8,
             comparison_mode mode = comparison_mode::whole_networks)
        : floats_network_(floats), int8_network_(int8) {
        result_.mode = mode;
        reals_ = {static_cast<std::size_t>(floats_.size),
                  [](std::size_t i) { return static_cast<std::size_t>(floats_.nodes[i].out.extents.size()) * 4; }};
        stored_ = {size,
                   [](std::size_t i) { return static_cast<std::size_t>(codes_.nodes[i].out.extents.size()) * 4; }};
        outputs_ = {network<FloatStage>::outputs().size(), [](std::size_t p) {
                        return static_cast<std::size_t>(network<FloatStage>::outputs()[p].extents.size()) * 4;
                    }};
        std::size_t largest = 1;
        for (const node& n : codes_) largest = std::max(largest, static_cast<std::size_t>(n.out.extents.size()));
        rounded_.resize(largest);
        expected_.resize(largest);
        for (int k = 0; k != max_inputs; ++k) operands_.emplace_back(largest * 4);
        float_arena_ = aligned_buffer(static_cast<std::size_t>(floats_.arena_bytes) + 1);
        int8_arena_ = aligned_buffer(static_cast<std::size_t>(codes_.arena_bytes) + 1);
        for (std::size_t i = 0; i != size; ++i)
            if (is_compared(static_cast<int>(i))) add_row(static_cast<int>(i));
    }

    /// One input: a pointer a port, to floats or indices. Raises calibration_error with the layer's name where a float is NaN or
    /// infinite.
    void observe(const void* const* xs) {
        std::vector<void*> ys;
        for (std::size_t p = 0; p != network<FloatStage>::outputs().size(); ++p) ys.push_back(outputs_.at(p));
        if (result_.mode != comparison_mode::shadow) {
            floats_network_.run(xs, ys.data(), float_arena_.data(), [&](int i, const void* values) {
                const node& n = floats_.nodes[i];
                if (!n.op->is_output)
                    std::memcpy(reals_.at(static_cast<std::size_t>(i)), values,
                                static_cast<std::size_t>(n.out.extents.size()) * 4);
            });
        }
        if (result_.mode == comparison_mode::each_row) {
            for (row_comparison& row : result_.rows) compare_alone(row, xs);
        } else {
            run_int8(xs, ys.data());
            for (row_comparison& row : result_.rows) {
                const auto i = static_cast<std::size_t>(row.row);
                compare_values(row, result_.mode == comparison_mode::shadow ? shadow_of(row.row) : real_values(row.row),
                               stored_.at(i));
            }
        }
        ++result_.inputs;
    }

    /// What there is to say so far.
    comparison result() const {
        comparison all = result_;
        for (row_comparison& row : all.rows) {
            for (const channel_errors& c : row.values.channels()) {
                row.dead_channels += c.largest_rounded == 0;
                row.lost_channels += c.largest_rounded == 0 && c.largest != 0;
            }
            if (row.quantization.scale != 0 && row.values.count() != 0) row.clipped_share = clipped_share(row);
        }
        return all;
    }

private:
    /// Rows that make values, or bring them to a grid: not what goes in, comes out, or is floats again.
    static bool is_compared(int i) {
        const node& n = codes_.nodes[i];
        return !n.op->is_output && !n.is_indices() && !(n.op->is_input && n.is_float()) &&
               !(changes_grid(n) && n.is_float());
    }
    void add_row(int i) {
        const node& n = codes_.nodes[i];
        row_comparison row =
            detail::row_to_compare(network<Int8Stage>::rows(), network<FloatStage>::rows(), int8_network_.ranges(), i);
        if (n.op->is_boundary && codes_.nodes[n.inputs[0]].op->is_input) row.layer = row.name;  // an input
        row.reads.assign(n.inputs, n.inputs + n.input_count);
        if (n.out.is_codes()) row.codes = code_counts(n.out.quant_min, n.out.quant_max);
        if (n.at.parameter_bytes != 0 && !changes_grid(n)) {
            const node_view from = floats_.view(n.from.self);
            const preparation p{codes_.view(i), int8_network_.ranges(),
                                const_cast<std::byte*>(int8_network_.parameters()) + n.at.parameter_offset};
            if (parameters_of(from).count != 0) {
                const auto* block =
                    reinterpret_cast<const float*>(floats_network_.parameters() + from.n.at.parameter_offset);
                for (const coded_values& one :
                     coded_arrays(p.at, p.ranges, Int8Stage::unpacks[static_cast<std::size_t>(i)](p), from, block))
                    row.weights.push_back(detail::compare_weights(one));
            }
        }
        result_.rows.push_back(std::move(row));
    }
    static double clipped_share(const row_comparison& row) {
        const exact_histogram<2048>& seen = row.values.histogram();
        const double low = double{row.quantization.scale} * (row.quant_min - row.quantization.zero_point - 0.5),
                     high = double{row.quantization.scale} * (row.quant_max - row.quantization.zero_point + 0.5);
        const auto count = static_cast<double>(row.values.count());
        const double below = low <= double{seen.range().min} ? 0 : seen.count_below(low);
        const double above = high >= double{seen.range().max} ? 0 : count - seen.count_below(high);
        return (below + above) / count;
    }

    static std::size_t count_of(int i) { return static_cast<std::size_t>(codes_.nodes[i].out.extents.size()); }
    const float* real_values(int i) {
        return reinterpret_cast<const float*>(reals_.at(static_cast<std::size_t>(float_value_of(codes_.nodes, i))));
    }
    /// The row of floats that row i quantizes, or i itself: what a float row over the same values reads.
    static int float_source(int i) {
        const node& n = codes_.nodes[i];
        return changes_grid(n) && codes_.nodes[n.inputs[0]].is_float() ? n.inputs[0] : i;
    }
    /// What values of row i of the int8 network stand for, and the inverse.
    void to_floats(int i, const std::byte* values, float* y) const {
        detail::values_to_floats<arch>(codes_.nodes[i].out, range_of(i), values, count_of(i), y);
    }
    void to_codes(int i, const float* x, std::byte* values) const {
        detail::floats_to_values<arch>(codes_.nodes[i].out, range_of(i), x, count_of(i), values);
    }
    const qparams& range_of(int i) const {
        return int8_network_.ranges()[std::max<int>(codes_.nodes[i].out.qparams_id, 0)];
    }

    /// The int8 network over an input, every row's values kept.
    void run_int8(const void* const* xs, void* const* ys) {
        std::vector<const void*> inputs(xs, xs + network<Int8Stage>::inputs().size());
        for (const port& p : network<Int8Stage>::inputs()) {
            const auto number = static_cast<std::size_t>(port_number(codes_.nodes[p.node]));
            if (!codes_.nodes[p.node].out.is_codes()) continue;
            to_codes(p.node, static_cast<const float*>(xs[number]), operands_[number].data());
            inputs[number] = operands_[number].data();
        }
        int8_network_.run(inputs.data(), ys, int8_arena_.data(), [&](int i, const void* values) {
            const node& n = codes_.nodes[i];
            if (!n.op->is_output)
                std::memcpy(stored_.at(static_cast<std::size_t>(i)), values,
                            count_of(i) * static_cast<std::size_t>(size_of(n.out.storage)));
        });
    }
    /// Row i alone, on the float network's values.
    void compare_alone(row_comparison& row, const void* const* xs) {
        const node& n = codes_.nodes[row.row];
        if (n.op->is_input) {  // of codes
            to_codes(row.row, static_cast<const float*>(xs[port_number(n)]), operands_[0].data());
            return compare_values(row, real_values(row.row), operands_[0].data());
        }
        const auto input = [&](int k) -> const void* {
            const int from = n.inputs[k];
            if (codes_.nodes[from].is_indices()) return xs[port_number(codes_.nodes[from])];
            std::byte* values = operands_[static_cast<std::size_t>(k)].data();
            to_codes(from, real_values(from), values);
            return values;
        };
        const void* made = alone_.run(row.row, int8_network_.parameters(), int8_network_.ranges(), input);
        compare_values(row, real_values(row.row), static_cast<const std::byte*>(made));
    }
    /// What the float rows make of the real values of what row i of the int8 network has read, before these were quantized where they
    /// were floats.
    const float* shadow_of(int i) {
        const node& n = codes_.nodes[i];
        const auto input = [&](int k) -> const void* {
            const int from = float_source(n.inputs[k]);
            std::byte* stored = stored_.at(static_cast<std::size_t>(from));
            if (codes_.nodes[from].is_indices()) return stored;
            auto* values = reinterpret_cast<float*>(operands_[static_cast<std::size_t>(k)].data());
            to_floats(from, stored, values);
            return values;
        };
        if (n.op->is_input) to_floats(i, stored_.at(static_cast<std::size_t>(i)), expected_.data());
        else if (changes_grid(n)) std::memcpy(expected_.data(), input(0), 4 * count_of(i));
        else compute_in_floats(shadow_, floats_network_.parameters(), n, input, expected_.data(), [](int) {});
        return expected_.data();
    }
    void compare_values(row_comparison& row, const float* real, const std::byte* values) {
        const std::size_t count = count_of(row.row);
        to_floats(row.row, values, rounded_.data());
        row.values.template add<arch>({real, count}, rounded_.data(), row.name);
        if (!codes_.nodes[row.row].out.is_codes()) return;
        const saturation ends(codes_.nodes[row.row], row.quantization);
        for_each_code(row.type, values, count, [&](std::int32_t code) {
            row.codes.add(code);
            row.saturated += ends.has(code);
        });
    }

    const network<FloatStage>& floats_network_;
    const network<Int8Stage>& int8_network_;
    comparison result_;
    detail::value_store reals_, stored_, outputs_;  // of float rows, of int8 rows, what comes out
    std::vector<float> rounded_, expected_;
    std::vector<aligned_buffer> operands_;
    aligned_buffer float_arena_, int8_arena_;
    row_runner<Int8Stage> alone_;
    row_runner<FloatStage> shadow_;
};

/// Compares every row of `int8` that stands for a value of `floats`: the calibrated, fused or float network that it was made of.
/// `batches` is what zp::calibrate takes; inputs are looked at one after another, and ten thousand need the memory of one. Raises
/// calibration_error with the layer's name where a float is NaN or infinite.
template <class FloatStage, class Net, class QConfig, class Arch, class Batches>
comparison compare(const network<FloatStage>& floats, const network<stage<quantized_nodes<Net, QConfig, Arch>>>& int8,
                   const Batches& batches, comparison_mode mode = comparison_mode::whole_networks) {
    if constexpr (std::is_same_v<FloatStage, float_stage<Net, Arch>>) {
        return compare(fuse(floats), int8, batches, mode);
    } else {
        comparer watching(floats, int8, mode);
        detail::for_each_input<prepared_stage<Net, QConfig, Arch>>(
            batches, [&](const void* const* xs) { watching.observe(xs); });
        return watching.result();
    }
}

}  // namespace zp::inline v0
