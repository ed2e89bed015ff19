// SPDX-License-Identifier: BSD-3-Clause
// The tape: the rows of a network as training runs them, a block of samples at a time, with all values kept for the way back.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/training/gradient.hpp>
#include <zeropoint/training/seen_sums.hpp>

namespace zp::inline v0 {

/// Codes that are made of a row's floats: by a row of the int8 network, whose codes they are.
struct tape_rounding {
    int row = -1;  // -1: the floats stay as they are
    int qparams_id = -1;
    scalar_type storage = scalar_type::uint8;
    std::int32_t quant_min = 0, quant_max = 0;
    bool is_exact = false;  // the floats are on the grid already: the operator picks among values of the same range

    constexpr bool exists() const { return row >= 0; }
};

/// Where each output of a row comes from that moves values: a place among those of all its inputs, one input behind the other; -1: a
/// constant.
struct moved_places {
    std::vector<std::int32_t> from;
};

/// A row: a node of a float stage over rows of the tape, or a change of grids.
struct tape_row {
    const operator_rules* rules = nullptr;
    run_function step = nullptr;  // null: an input, or values of the row that it reads
    gradient_rule gradient;
    int source = -1;        // the node of the float stage whose parameters and name it has
    bool has_node = false;  // false: a change of grids
    int floats_of = -1;     // a row of the int8 network whose floats are these, as they are
    int sums_of = -1;       // a row of the int8 network whose sums, in real units, are what is in front of rounding
    tape_rounding rounding;
    tape_rounding table;  // the range in front of a fused table: what lies beyond is clipped
    bool is_observed = false;
    bool learns_range = false;
    bool is_live = false;  // a batch norm by the statistics of the samples that run together

    // What finish() finds.
    std::size_t size = 0;  // values of a sample
    std::size_t before = 0, value = 0,
                gradient_at = 0;  // offsets in a block's memory: in front of rounding, behind it, d loss / d value
    std::size_t statistics_at = 0,
                sums_at = 0;              // of a live row: mean, then variance, of each channel; two doubles a channel
    bool keeps_gradient = true;           // that of all samples of a block, not only of those that run together
    bool asks = false;                    // its gradient is needed: something is trained at it or before it
    bool is_reached = false;              // the loss depends on it
    bool trains = false;                  // has parameters that are trained
    bool begins = false;                  // the first samples' gradient of its parameters is written, not added
    moved_places moved;                   // of a gradient that moves
    std::array<bool, max_inputs> adds{};  // to the gradient of input k, which somebody behind it has written
};

/// A row of the int8 network: its node keeps its codes.
struct coded_row {
    std::size_t at = 0, bytes = 0;  // of sample 0; of one sample
    bool is_input = false;
    int seen_by = -1;  // the row of the tape that takes its sums
};

/// Rows from one live batch norm to the next, which some samples of a block go through together: as many as stay in a cache. A norm
/// needs the sums of all samples; so the one at the end is only summed up here, and is the first row of the next stretch.
struct tape_stretch {
    std::size_t first = 0, last = 0;  // the last one included
    bool ends_in_norm = false;
    int samples = 1;
};

/// Rows and their places. The same for all who run it: see block_runner.
class tape {
public:
    std::vector<tape_row> rows;
    std::vector<node> nodes;   // of the rows, with inputs among them
    std::vector<int> outputs;  // rows of the marked outputs, or the last
    std::vector<int> inputs;   // rows of the ports

    std::vector<coded_row> coded;  // of the int8 network; empty where floats are trained
    std::vector<node> coded_nodes;
    const run_function* coded_steps = nullptr;
    const sums_rule* coded_sums = nullptr;
    int qparams_count = 0;

    std::size_t near =
        std::size_t{1} << 17;  // floats of an array of so many samples of a stretch as run together: half a MiB
    std::vector<tape_stretch> stretches;
    int block = 8;                    // samples whose live norms have one mean
    std::size_t bytes = 0;            // of a block's memory
    std::size_t gradient_floats = 0;  // of the parameters, in their places
    std::size_t scratch_at = 0, coded_scratch_at = 0, temporary_at = 0, gradient_scratch_at = 0;

    /// Appends a row. The inputs of `n` are rows of the tape.
    int append(const node& n, const tape_row& row) {
        nodes.push_back(n);
        rows.push_back(row);
        return static_cast<int>(rows.size()) - 1;
    }

    /// Finds what is needed on the way back and where everything lies. Raises value_error where a block has more than 2 GiB.
    void finish(int samples_of_block, std::size_t parameter_bytes) {
        block = samples_of_block;
        gradient_floats = parameter_bytes / sizeof(float);
        find_gradients();
        find_begun_gradients();
        find_stretches();
        place();
        find_moves();
    }

private:
    void find_gradients() {
        for (std::size_t i = 0; i != rows.size(); ++i) {
            tape_row& row = rows[i];
            row.size = static_cast<std::size_t>(nodes[i].out.extents.size());
            row.trains = row.has_node && trained_floats(i) != 0;
            row.asks = row.trains || row.learns_range;
            for (int k = 0; k != nodes[i].input_count; ++k) row.asks = row.asks || passes_on(i, k);
        }
        std::vector<bool> is_written(rows.size(), false);
        for (const int output : outputs) {
            rows[static_cast<std::size_t>(output)].is_reached = true;
            is_written[static_cast<std::size_t>(output)] = true;
        }
        for (std::size_t i = rows.size(); i-- != 0;) {
            tape_row& row = rows[i];
            if (!row.is_reached || !row.asks) continue;
            for (int k = 0; k != nodes[i].input_count; ++k) {
                if (!passes_on(i, k)) continue;
                const auto x = static_cast<std::size_t>(nodes[i].inputs[k]);
                rows[x].is_reached = true;
                row.adds[static_cast<std::size_t>(k)] = is_written[x];
                is_written[x] = true;
            }
        }
    }
    /// Of rows that share no parameters with another one.
    void find_begun_gradients() {
        for (std::size_t i = 0; i != rows.size(); ++i) {
            tape_row& row = rows[i];
            row.begins = row.gradient.begins && row.trains && row.is_reached && row.asks;
            const auto& own = nodes[i].at;
            for (std::size_t k = 0; k != rows.size() && row.begins; ++k) {
                const auto& other = nodes[k].at;
                const bool overlaps = own.parameter_offset < other.parameter_offset + other.parameter_bytes &&
                                      other.parameter_offset < own.parameter_offset + own.parameter_bytes;
                row.begins = k == i || !rows[k].trains || !overlaps;
            }
        }
    }
    std::size_t trained_floats(std::size_t i) const {
        const parameter_list list = parameters_of({nodes.data(), nodes[i]});
        std::size_t floats = 0;
        for (int k = 0; k != list.count; ++k)
            if ((rows[i].gradient.trained >> k & 1) != 0) floats += static_cast<std::size_t>(list.arrays[k].size());
        return floats;
    }

public:
    /// Whether the gradient goes from row i to what it reads as input k.
    bool passes_on(std::size_t i, int k) const {
        const auto x = static_cast<std::size_t>(nodes[i].inputs[k]);
        return rows[x].asks && !nodes[x].is_indices() && nodes[i].op->inputs != input_rule::extents;
    }
    /// Whether row i is one whose input k needs no gradient of it, as an embedding's indices.
    node_view view(std::size_t i) const { return {nodes.data(), nodes[i]}; }

private:
    /// Runs rows that move values over the numbers of places, twice, in digits that floats have: once more with another sign, which
    /// constants do not change.
    void find_moves() {
        for (std::size_t i = 0; i != rows.size(); ++i) {
            tape_row& row = rows[i];
            if (!row.gradient.moves || !row.asks || !row.is_reached) continue;
            constexpr std::int32_t digit = 4096;
            const auto low = values_of_places(i, [](std::int32_t at) { return at % digit + 1; });
            const auto high = values_of_places(i, [](std::int32_t at) { return at / digit + 1; });
            const auto negative = values_of_places(i, [](std::int32_t at) { return -(at % digit + 1); });
            row.moved.from.resize(row.size);
            for (std::size_t k = 0; k != row.size; ++k) {
                const bool is_moved = low[k] != 0 && low[k] == -negative[k];
                row.moved.from[k] =
                    is_moved ? static_cast<std::int32_t>(high[k] - 1) * digit + static_cast<std::int32_t>(low[k] - 1)
                             : -1;
            }
        }
    }
    template <class Number> std::vector<float> values_of_places(std::size_t i, Number number) const {
        std::vector<node> own = nodes;
        std::size_t end = align_up(static_cast<std::size_t>(own[i].at.scratch_bytes));
        own[i].at.scratch_offset = 0;
        std::vector<std::size_t> begins;
        for (int k = 0; k != own[i].input_count; ++k) {
            begins.push_back(end);
            end += align_up(sizeof(float) * rows[static_cast<std::size_t>(own[i].inputs[k])].size);
        }
        const std::size_t y_at = end;
        aligned_buffer memory(end + align_up(sizeof(float) * rows[i].size));
        std::vector<const void*> ports(inputs.size() + 1);
        std::int32_t place = 0;
        for (int k = 0; k != own[i].input_count; ++k) {
            const auto x = static_cast<std::size_t>(own[i].inputs[k]);
            auto* to = reinterpret_cast<float*>(memory.data() + begins[static_cast<std::size_t>(k)]);
            for (std::size_t j = 0; j != rows[x].size; ++j) to[j] = static_cast<float>(number(place++));
            if (own[x].op->is_input) ports[static_cast<std::size_t>(own[x].options[0])] = to;
            else own[x].at.arena_offset = static_cast<int>(begins[static_cast<std::size_t>(k)]);
        }
        own[i].at.arena_offset = static_cast<int>(y_at);
        rows[i].step(own[i], {own.data(), nullptr, nullptr, memory.data(), ports.data(), nullptr, memory.data()});
        const auto* y = reinterpret_cast<const float*>(memory.data() + y_at);
        return {y, y + rows[i].size};
    }
    /// One stretch, of the whole block, where no norm is live.
    void find_stretches() {
        stretches.clear();
        std::size_t first = 0;
        for (std::size_t i = 0; i != rows.size(); ++i) {
            if (!rows[i].is_live) continue;
            stretches.push_back({first, i, true, 1});
            first = i;
        }
        const bool has_norms = !stretches.empty();
        stretches.push_back({first, rows.size() - 1, false, 1});
        for (tape_stretch& stretch : stretches) {
            stretch.samples = has_norms ? samples_together(stretch) : block;
            if (has_norms) find_kept_gradients(stretch);
        }
    }
    /// As many as stay near; but weights are brought into panels and tiles once for all of them, which has to be little
    /// beside what is done to values.
    int samples_together(const tape_stretch& stretch) const {
        constexpr std::size_t values_a_weight = 8;
        std::size_t largest = 1, values = 1, weights = 0;
        for (std::size_t i = stretch.first; i <= stretch.last; ++i) {
            largest = std::max(largest, rows[i].size);
            values += rows[i].size;
            weights += trained_floats(i);
        }
        const std::size_t samples = std::max({near / largest, values_a_weight * weights / values, std::size_t{1}});
        return static_cast<int>(std::min(samples, static_cast<std::size_t>(block)));
    }
    /// A gradient is kept where it is written or read in another stretch, or from outside.
    void find_kept_gradients(const tape_stretch& stretch) {
        for (std::size_t i = stretch.first; i <= stretch.last; ++i) {
            tape_row& row = rows[i];
            row.keeps_gradient =
                row.is_live || std::find(outputs.begin(), outputs.end(), static_cast<int>(i)) != outputs.end();
            for (std::size_t reader = stretch.last + 1; reader < rows.size(); ++reader)
                for (int k = 0; k != nodes[reader].input_count; ++k)
                    row.keeps_gradient |= nodes[reader].inputs[k] == static_cast<int>(i);
        }
    }
    void place() {
        std::size_t end = 0;
        const auto put = [&](std::size_t size) {
            const std::size_t at = end;
            end += align_up(size);
            return at;
        };
        const auto samples = static_cast<std::size_t>(block);
        std::size_t scratch = 0, state = 0, temporary = 0, gradient_scratch = 0;
        for (std::size_t i = 0; i != rows.size(); ++i) {
            const tape_row& row = rows[i];
            if (row.step != nullptr) {
                scratch = std::max(scratch, static_cast<std::size_t>(nodes[i].at.scratch_bytes));
                state = std::max(state, static_cast<std::size_t>(nodes[i].at.state_bytes));
            }
            if (row.gradient.scratch_bytes != nullptr)
                gradient_scratch = std::max(gradient_scratch, row.gradient.scratch_bytes(view(i), block));
            std::size_t added = 0;
            for (int k = 0; k != nodes[i].input_count; ++k)
                if (row.adds[static_cast<std::size_t>(k)])
                    added +=
                        align_up(sizeof(float) * samples * rows[static_cast<std::size_t>(nodes[i].inputs[k])].size);
            temporary = std::max(temporary, added);
        }
        scratch_at = put(scratch);
        const std::size_t state_at = put(state);
        temporary_at = put(temporary);
        gradient_scratch_at = put(gradient_scratch);
        for (std::size_t i = 0; i != rows.size(); ++i) {
            tape_row& row = rows[i];
            nodes[i].at.scratch_offset = static_cast<int>(scratch_at);
            nodes[i].at.state_offset = static_cast<int>(state_at);
            row.value = put(sizeof(float) * samples * row.size);
            const bool is_apart = (row.rounding.exists() && !row.rounding.is_exact) || row.table.qparams_id >= 0;
            row.before = is_apart ? put(sizeof(float) * samples * row.size) : row.value;
            if (row.is_live) {
                const auto channels = static_cast<std::size_t>(nodes[i].out.extents.channels);
                row.statistics_at = put(2 * sizeof(float) * channels);
                row.sums_at = put(2 * sizeof(double) * channels);
            }
            if (row.is_reached && row.keeps_gradient) row.gradient_at = put(sizeof(float) * samples * row.size);
        }
        std::size_t passing = 0;  // gradients of one stretch after another
        for (const tape_stretch& stretch : stretches) {
            std::size_t own = 0;
            for (std::size_t i = stretch.first; i <= stretch.last; ++i) {
                tape_row& row = rows[i];
                if (!row.is_reached || row.keeps_gradient) continue;
                row.gradient_at = end + own;
                own += align_up(sizeof(float) * static_cast<std::size_t>(stretch.samples) * row.size);
            }
            passing = std::max(passing, own);
        }
        put(passing);
        std::size_t coded_scratch = 0, coded_state = 0;
        for (std::size_t r = 0; r != coded_nodes.size(); ++r) {
            const node& n = coded_nodes[r];
            coded_scratch = std::max(coded_scratch, static_cast<std::size_t>(n.at.scratch_bytes));
            if (const node_view v{coded_nodes.data(), n}; coded_sums[r].exists() && coded_sums[r].joins(v))
                coded_scratch = std::max(coded_scratch, coded_sums[r].scratch_bytes(v, block));
            coded_state = std::max(coded_state, static_cast<std::size_t>(n.at.state_bytes));
        }
        coded_scratch_at = put(coded_scratch);
        const std::size_t coded_state_at = put(coded_state);
        coded.resize(coded_nodes.size());
        for (std::size_t r = 0; r != coded.size(); ++r) {
            node& n = coded_nodes[r];
            n.at.scratch_offset = static_cast<int>(coded_scratch_at);
            n.at.state_offset = static_cast<int>(coded_state_at);
            coded[r].is_input = n.op->is_input;
            coded[r].bytes =
                static_cast<std::size_t>(n.out.extents.size()) * static_cast<std::size_t>(size_of(n.out.storage));
            coded[r].at = put(samples * coded[r].bytes);
        }
        for (std::size_t i = 0; i != rows.size(); ++i)
            if (rows[i].sums_of >= 0) coded[static_cast<std::size_t>(rows[i].sums_of)].seen_by = static_cast<int>(i);
        bytes = end;
        if (bytes > std::size_t{INT_MAX})
            raise<value_error>("train: a block of " + std::to_string(block) + " samples of this network takes " +
                               std::to_string(bytes) +
                               " bytes, expected at most 2147483647: train with a smaller .block");
    }
};

}  // namespace zp::inline v0
