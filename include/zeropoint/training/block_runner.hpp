// SPDX-License-Identifier: BSD-3-Clause
// Runs a block of samples along a tape and back: values, codes, then gradients of values and parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/kernel/gradient/batch_norm_gradient.hpp>
#include <zeropoint/kernel/gradient/clamp_gradient.hpp>
#include <zeropoint/kernel/gradient/fake_quantize.hpp>
#include <zeropoint/kernel/reduction/float_statistics.hpp>
#include <zeropoint/observe/observer.hpp>
#include <zeropoint/training/large_buffer.hpp>
#include <zeropoint/training/tape.hpp>

namespace zp::inline v0 {

/// What a tape runs with: parameters as floats, in their places; where values are rounded their ranges; and where the int8 network
/// rounds them its parameters. Without those floats are rounded as they are: what others call fake quantization.
struct tape_parameters {
    const std::byte* floats = nullptr;
    const std::byte* coded = nullptr;
    const qparams* ranges = nullptr;
};

/// Gradients of the scale and the zero point of a range, summed over what was seen.
struct range_gradient {
    float scale = 0, zero_point = 0;
};

/// The memory of one worker, and what runs in it. A copy of the nodes is in it, whose places are those of one sample after another.
template <class Arch> class block_runner {
public:
    explicit block_runner(const tape& of)
        : tape_(&of),
          nodes_(of.nodes),
          coded_nodes_(of.coded_nodes),
          memory_(of.bytes),
          ports_(of.inputs.size()),
          observed_(of.rows.size()) {}

    /// Where the values of input `port` of a sample go: as many as the port has, floats or indices of 32 bits.
    void* input(int port, int sample) {
        const auto row = static_cast<std::size_t>(tape_->inputs[static_cast<std::size_t>(port)]);
        return place(tape_->rows[row].before) + row_offset(row, sample);
    }
    /// The values that an output has for a sample.
    const float* output(std::size_t number, int sample) const {
        const auto row = static_cast<std::size_t>(tape_->outputs[number]);
        return floats(tape_->rows[row].value) + offset(row, sample);
    }
    std::size_t output_size(std::size_t number) const {
        return tape_->rows[static_cast<std::size_t>(tape_->outputs[number])].size;
    }
    /// Where to write the gradient of the loss by that output.
    float* output_gradient(std::size_t number, int sample) {
        const auto row = static_cast<std::size_t>(tape_->outputs[number]);
        return floats(tape_->rows[row].gradient_at) + offset(row, sample);
    }

    /// Of an output without a loss nothing comes but from rows that read it.
    void clear_output_gradient(std::size_t number) noexcept {
        const auto row = static_cast<std::size_t>(tape_->outputs[number]);
        std::fill_n(floats(tape_->rows[row].gradient_at), count_of(row), 0.0f);
    }

    /// Runs `samples` inputs, at most a block, that were put in place. With `quantizes` false nothing is rounded.
    void forward(int samples, const tape_parameters& with, bool quantizes) noexcept {
        samples_ = samples;
        with_ = with;
        quantizes_ = quantizes && with.ranges != nullptr;
        is_coded_ = quantizes_ && with.coded != nullptr;
        if (is_coded_) run_coded();
        std::fill(observed_.begin(), observed_.end(), observed_values{});
        for (const tape_stretch& stretch : tape_->stretches) {
            if (stretch.ends_in_norm) clear_sums(stretch.last);
            for_each_part(stretch, [&] {
                for (std::size_t i = stretch.first; i != stretch.last; ++i) run_row(i);
                if (stretch.ends_in_norm) add_sums(stretch.last);
                else run_row(stretch.last);
            });
            if (stretch.ends_in_norm) take_statistics(stretch.last);
        }
    }
    /// Goes back from the gradients of the outputs. Adds to `gradient`, the parameters' in their places, and to `ranges`. With `begins` both
    /// hold nothing yet, and get what they would from zeros: rows that can write theirs need not have them.
    void backward(float* gradient, std::span<range_gradient> ranges, bool begins = false) noexcept {
        begins_ = begins;
        if (begins) clear_gradients(gradient, ranges);
        for (std::size_t k = tape_->stretches.size(); k-- != 0;) {
            const tape_stretch& stretch = tape_->stretches[k];
            const bool begins_with_norm = k != 0;
            if (begins_with_norm) clear_sums(stretch.first);
            for_each_part(stretch, [&] {
                for (std::size_t i = stretch.last + 1; i-- != stretch.first;) {
                    const tape_row& row = tape_->rows[i];
                    if (!row.is_reached || !row.asks) continue;
                    const bool is_begun = stretch.ends_in_norm && i == stretch.last;
                    if (!is_begun) stop_back(i, ranges);
                    if (begins_with_norm && i == stretch.first) add_gradient_sums(i);
                    else pass_back(i, gradient);
                }
            });
        }
    }
    /// Takes the ranges of what the block's values were in front of rounding, by qparams_id. False where one is not finite.
    bool observe(std::span<observed_range> seen) const noexcept {
        for (std::size_t i = 0; i != tape_->rows.size(); ++i) {
            const tape_row& row = tape_->rows[i];
            if (!row.is_observed) continue;
            if (!observed_[i].is_finite) return false;
            observed_range& range = seen[static_cast<std::size_t>(nodes_[i].out.qparams_id)];
            range = range.with(observed_[i].range);
        }
        return true;
    }
    /// Of a live batch norm of `count` values a channel: sums[c] of them and sums[channels + c] of their squares.
    void statistics_sums(std::size_t row, double* sums) const noexcept {
        const auto channels = static_cast<std::size_t>(nodes_[row].out.extents.channels);
        const auto count = static_cast<double>(count_of(row) / channels);
        const float* statistics = floats(tape_->rows[row].statistics_at);
        for (std::size_t c = 0; c != channels; ++c) {
            const double mean = statistics[c];
            sums[c] = count * mean;
            sums[channels + c] = count * (double{statistics[channels + c]} + mean * mean);
        }
    }
    /// The first row that has such a value; the last where none has.
    int first_row_not_finite() const noexcept {
        for (std::size_t i = 0; i != tape_->rows.size(); ++i) {
            if (nodes_[i].is_indices()) continue;
            const std::size_t count = count_of(i);
            if (kernel::first_not_finite<Arch>(floats(tape_->rows[i].before), count) != count)
                return static_cast<int>(i);
        }
        return static_cast<int>(tape_->rows.size()) - 1;
    }
    /// The values of a row in front of rounding: what its codes are made of.
    std::span<const float> values_before_rounding(int row) const {
        const tape_row& r = tape_->rows[static_cast<std::size_t>(row)];
        return {floats(r.before), r.size * static_cast<std::size_t>(samples_)};
    }
    std::span<const float> values(int row) const {
        const tape_row& r = tape_->rows[static_cast<std::size_t>(row)];
        return {floats(r.value), r.size * static_cast<std::size_t>(samples_)};
    }
    /// The codes of a row of the int8 network, of a sample.
    const std::byte* codes(int row, int sample) const {
        const coded_row& r = tape_->coded[static_cast<std::size_t>(row)];
        return memory_.data() + r.at + static_cast<std::size_t>(sample) * r.bytes;
    }

private:
    void clear_gradients(float* gradient, std::span<range_gradient> ranges) const noexcept {
        std::fill(ranges.begin(), ranges.end(), range_gradient{});
        std::size_t from = 0;
        const auto clear_to = [&](std::size_t to) {
            if (from < to) std::fill(gradient + from, gradient + to, 0.0f);
        };
        for (std::size_t i = 0; i != tape_->rows.size(); ++i) {
            const std::size_t at = static_cast<std::size_t>(nodes_[i].at.parameter_offset) / sizeof(float);
            if (!tape_->rows[i].begins || at < from) continue;
            clear_to(at);
            from = at + static_cast<std::size_t>(nodes_[i].at.parameter_bytes) / sizeof(float);
        }
        clear_to(tape_->gradient_floats);
    }
    std::byte* place(std::size_t at) { return memory_.data() + at; }
    float* floats(std::size_t at) { return reinterpret_cast<float*>(memory_.data() + at); }
    const float* floats(std::size_t at) const { return reinterpret_cast<const float*>(memory_.data() + at); }
    std::size_t offset(std::size_t row, int sample) const {
        return static_cast<std::size_t>(sample) * tape_->rows[row].size;
    }
    std::size_t row_offset(std::size_t row, int sample) const { return sizeof(float) * offset(row, sample); }
    std::size_t count_of(std::size_t row) const { return tape_->rows[row].size * static_cast<std::size_t>(samples_); }

    /// Some samples of the block that go through a stretch together.
    struct part_of_block {
        int first = 0, count = 0;
    };
    template <class Body> void for_each_part(const tape_stretch& stretch, const Body& body) noexcept {
        for (int first = 0; first < samples_; first += stretch.samples) {
            part_ = {first, std::min(stretch.samples, samples_ - first)};
            body();
        }
    }
    // Of the part that runs.
    std::size_t part_count(std::size_t row) const {
        return tape_->rows[row].size * static_cast<std::size_t>(part_.count);
    }
    float* before(std::size_t row) { return floats(tape_->rows[row].before) + offset(row, part_.first); }
    float* value(std::size_t row) { return floats(tape_->rows[row].value) + offset(row, part_.first); }
    float* gradient_of_part(std::size_t row) {
        return floats(tape_->rows[row].gradient_at) +
               (tape_->rows[row].keeps_gradient ? offset(row, part_.first) : std::size_t{0});
    }

    // ---- live norms ----

    double* sums_of(std::size_t row) { return reinterpret_cast<double*>(place(tape_->rows[row].sums_at)); }
    std::size_t channels_of(std::size_t row) const {
        return static_cast<std::size_t>(nodes_[row].out.extents.channels);
    }
    double values_of_channel(std::size_t row) const { return static_cast<double>(count_of(row) / channels_of(row)); }
    kernel::const_float_batch batch(std::size_t row, const float* values) const {
        return {values, static_cast<std::ptrdiff_t>(tape_->rows[row].size)};
    }
    void clear_sums(std::size_t row) noexcept { std::fill_n(sums_of(row), 2 * channels_of(row), 0.0); }
    void add_sums(std::size_t row) noexcept {
        const auto x = static_cast<std::size_t>(nodes_[row].inputs[0]);
        kernel::add_batch_sums<Arch>(part_.count, batch(row, value(x)), nodes_[row].out.extents.pixels(),
                                     channels_of(row), sums_of(row));
    }
    void take_statistics(std::size_t row) noexcept {
        float* const mean = floats(tape_->rows[row].statistics_at);
        kernel::batch_statistics(channels_of(row), values_of_channel(row), sums_of(row), mean, mean + channels_of(row));
    }
    void add_gradient_sums(std::size_t row) noexcept {
        const auto x = static_cast<std::size_t>(nodes_[row].inputs[0]);
        kernel::add_batch_norm_gradient_sums<Arch>(part_.count, batch(row, value(x)), batch(row, gradient_of_part(row)),
                                                   nodes_[row].out.extents.pixels(), channels_of(row),
                                                   floats(tape_->rows[row].statistics_at), sums_of(row));
    }

    // ---- the int8 network ----

    void run_coded() noexcept {
        const context c{coded_nodes_.data(), with_.coded, with_.ranges,  memory_.data(),
                        ports_.data(),       nullptr,     memory_.data()};
        for (std::size_t r = 0; r != coded_nodes_.size(); ++r) {
            node& n = coded_nodes_[r];
            if (tape_->coded[r].is_input) {
                put_codes_of_input(r);
                continue;
            }
            const int seen_by = tape_->coded[r].seen_by;
            if (seen_by < 0) {
                for (int sample = 0; sample != samples_; ++sample) {
                    place_coded(r, sample);
                    tape_->coded_steps[r](n, c);
                }
                continue;
            }
            const auto i = static_cast<std::size_t>(seen_by);
            const sums_rule& rule = tape_->coded_sums[r];
            const int together = rule.joins(c.view(n)) ? samples_ : 1;
            for (int sample = 0; sample != samples_; sample += together) {
                place_coded(r, sample);
                rule.run(n, c, together,
                         {floats(tape_->rows[i].before) + offset(i, sample), nodes_[i].fused.lowest,
                          nodes_[i].fused.highest});
            }
        }
    }
    /// Of a sample: where row r writes, and where what it reads lies.
    void place_coded(std::size_t r, int sample) noexcept {
        node& n = coded_nodes_[r];
        n.at.arena_offset = coded_offset(r, sample);
        for (int k = 0; k != n.input_count; ++k) {
            const auto x = static_cast<std::size_t>(n.inputs[k]);
            if (tape_->coded[x].is_input) {
                const auto port = static_cast<std::size_t>(coded_nodes_[x].options[0]);
                ports_[port] = coded_nodes_[x].out.is_codes() ? static_cast<const void*>(codes(n.inputs[k], sample))
                                                              : input(static_cast<int>(port), sample);
            } else {
                coded_nodes_[x].at.arena_offset = coded_offset(x, sample);
            }
        }
    }
    int coded_offset(std::size_t row, int sample) const {
        return static_cast<int>(tape_->coded[row].at + static_cast<std::size_t>(sample) * tape_->coded[row].bytes);
    }
    /// An int8 network that takes codes is given those of the floats.
    void put_codes_of_input(std::size_t r) noexcept {
        const node& n = coded_nodes_[r];
        if (!n.out.is_codes()) return;
        const auto row = static_cast<std::size_t>(tape_->inputs[static_cast<std::size_t>(n.options[0])]);
        const tape_row& from = tape_->rows[row];
        const qparams& range = with_.ranges[n.out.qparams_id];
        const auto put = [&](auto* to) {
            kernel::quantize<Arch>(floats(from.before), count_of(row), range.scale, range.zero_point, n.out.quant_min,
                                   n.out.quant_max, to);
        };
        std::byte* to = place(tape_->coded[r].at);
        if (n.out.storage == scalar_type::uint8) put(reinterpret_cast<std::uint8_t*>(to));
        else if (n.out.storage == scalar_type::int8) put(reinterpret_cast<std::int8_t*>(to));
        else put(reinterpret_cast<std::int16_t*>(to));
    }

    // ---- floats ----

    void run_row(std::size_t i) noexcept {
        const tape_row& row = tape_->rows[i];
        const bool rounds = quantizes_ && row.rounding.exists(), is_input = nodes_[i].op->is_input;
        if (is_coded_ && row.floats_of >= 0) {
            const float* from = floats(tape_->coded[static_cast<std::size_t>(row.floats_of)].at);
            std::memcpy(value(i), from + offset(i, part_.first), sizeof(float) * part_count(i));
        } else if (is_coded_ && row.sums_of >= 0) {
            // run_coded() has left them.
        } else if (row.has_node && !is_input && !(is_coded_ && rounds && row.rounding.is_exact)) {
            step(i);
        } else if (!row.has_node && !is_input) {
            const auto x = static_cast<std::size_t>(nodes_[i].inputs[0]);
            std::memcpy(before(i), value(x), sizeof(float) * part_count(i));
        }
        for_each_piece(part_count(i), [&](std::size_t first, std::size_t count) {
            if (rounds && is_coded_) take_codes(i, first, count);
            else if (rounds && !row.rounding.is_exact)
                kernel::fake_quantize<Arch>(before(i) + first, count, quantizer_of(row.rounding), value(i) + first);
            else if (row.before != row.value) pass_unrounded(i, first, count);
            if (row.is_observed) observe_piece(i, first, count);
        });
    }
    /// What is done to values one after another is done to so many as stay near.
    template <class Body> static void for_each_piece(std::size_t count, const Body& body) {
        constexpr std::size_t piece = 4096;
        for (std::size_t first = 0; first < count; first += piece) body(first, std::min(piece, count - first));
    }
    void observe_piece(std::size_t i, std::size_t first, std::size_t count) noexcept {
        const kernel::min_max_result found = kernel::min_max<Arch>(before(i) + first, count);
        observed_values& all = observed_[i];
        all.is_finite = all.is_finite && found.first_not_finite == count;
        all.range = all.range.with({found.min, found.max});
    }
    void step(std::size_t i) noexcept {
        const tape_row& row = tape_->rows[i];
        node& n = nodes_[i];
        if (row.gradient.forward != nullptr) {
            row.gradient.forward(operands_of(i), before(i));
            return;
        }
        const context c{nodes_.data(), with_.floats, nullptr, memory_.data(), ports_.data(), nullptr, memory_.data()};
        for (int sample = part_.first; sample != part_.first + part_.count; ++sample) {
            for (int k = 0; k != n.input_count; ++k) {
                const auto x = static_cast<std::size_t>(n.inputs[k]);
                if (nodes_[x].op->is_input) {
                    const int port = nodes_[x].options[0];
                    ports_[static_cast<std::size_t>(port)] =
                        memory_.data() + tape_->rows[x].value + row_offset(x, sample);
                } else {
                    nodes_[x].at.arena_offset = static_cast<int>(tape_->rows[x].value + row_offset(x, sample));
                }
            }
            n.at.arena_offset = static_cast<int>(row.before + row_offset(i, sample));
            row.step(n, c);
        }
    }
    void take_codes(std::size_t i, std::size_t first, std::size_t count) noexcept {
        const tape_row& row = tape_->rows[i];
        const qparams& range = with_.ranges[row.rounding.qparams_id];
        const std::byte* from = memory_.data() + tape_->coded[static_cast<std::size_t>(row.rounding.row)].at;
        const auto take = [&](const auto* codes) {
            kernel::dequantize<Arch>(codes + offset(i, part_.first) + first, count, range.scale, range.zero_point,
                                     value(i) + first);
        };
        if (row.rounding.storage == scalar_type::uint8) take(reinterpret_cast<const std::uint8_t*>(from));
        else if (row.rounding.storage == scalar_type::int8) take(reinterpret_cast<const std::int8_t*>(from));
        else take(reinterpret_cast<const std::int16_t*>(from));
    }
    /// What a function of a fused table reads lies within its range, as finely as it may.
    void pass_unrounded(std::size_t i, std::size_t first, std::size_t count) noexcept {
        const tape_row& row = tape_->rows[i];
        const float* from = before(i) + first;
        float* to = value(i) + first;
        if (quantizes_ && row.table.qparams_id >= 0) {
            const qparams& range = with_.ranges[row.table.qparams_id];
            const float low = dequantized(row.table.quant_min, range), high = dequantized(row.table.quant_max, range);
            for (std::size_t k = 0; k != count; ++k) to[k] = std::min(std::max(from[k], low), high);
        } else {
            std::memcpy(to, from, sizeof(float) * count);
        }
    }
    kernel::fake_quantizer quantizer_of(const tape_rounding& to) const {
        const qparams& range = with_.ranges[to.qparams_id];
        return {range.scale, range.zero_point, to.quant_min, to.quant_max};
    }
    static float dequantized(std::int32_t code, const qparams& range) {
        return range.scale * static_cast<float>(code - range.zero_point);
    }

    // ---- back ----

    /// The gradient behind rounding and bounds becomes that in front of them.
    void stop_back(std::size_t i, std::span<range_gradient> ranges) noexcept {
        const tape_row& row = tape_->rows[i];
        const node& n = nodes_[i];
        const bool rounds = quantizes_ && row.rounding.exists() && !row.rounding.is_exact;
        if (rounds && row.learns_range) {
            const qparams& range = with_.ranges[row.rounding.qparams_id];
            float* const dy = gradient_of_part(i);
            const kernel::learned_sums sums =
                kernel::learned_step_backward<Arch>(before(i), dy, part_count(i), quantizer_of(row.rounding), dy);
            range_gradient& of = ranges[static_cast<std::size_t>(row.rounding.qparams_id)];
            of.scale += static_cast<float>(sums.steps);
            of.zero_point -= static_cast<float>(static_cast<double>(range.scale) * sums.clipped);
        }
        const bool masks = rounds && !row.learns_range, has_table = quantizes_ && row.table.qparams_id >= 0,
                   is_bounded = row.has_node && n.fused.clamp != nullptr;
        if (masks || has_table || is_bounded)
            for_each_piece(part_count(i), [&](std::size_t first, std::size_t count) {
                const float* const x = before(i) + first;
                float* const dy = gradient_of_part(i) + first;
                if (masks) kernel::pass_inside<Arch>(x, dy, count, quantizer_of(row.rounding), dy);
                if (has_table) kernel::pass_inside<Arch>(x, dy, count, quantizer_of(row.table), dy);
                if (is_bounded) kernel::clamp_gradient<Arch>(x, dy, count, n.fused.lowest, n.fused.highest, dy);
            });
    }
    /// What both ways see of a row.
    gradient_operands operands_of(std::size_t i) noexcept {
        const node& n = nodes_[i];
        gradient_operands o{{nodes_.data(), n}};
        o.rules = tape_->rows[i].rules;
        o.samples = part_.count;
        o.scratch = floats(tape_->gradient_scratch_at);
        if (tape_->rows[i].is_live) {
            o.statistics = floats(tape_->rows[i].statistics_at);
            o.gradient_sums = sums_of(i);
            o.values_of_channel = values_of_channel(i);
        }
        if (tape_->rows[i].has_node) o.block = reinterpret_cast<const float*>(with_.floats + n.at.parameter_offset);
        for (int k = 0; k != n.input_count; ++k) {
            const auto x = static_cast<std::size_t>(n.inputs[k]);
            if (nodes_[x].is_indices()) o.indices = reinterpret_cast<const std::int32_t*>(value(x));
            else o.xs[k] = value(x);
        }
        return o;
    }
    /// dx[where an output came from] += its dy.
    void move_back(const tape_row& row, const gradient_operands& o) noexcept {
        std::int32_t first = 0;
        for (int k = 0; k != o.at.n.input_count; ++k) {
            const auto size = static_cast<std::int32_t>(o.x_size(k));
            const std::int32_t begin = std::exchange(first, first + size);
            if (o.dxs[k] == nullptr) continue;
            std::fill_n(o.dxs[k], o.x_size(k) * static_cast<std::size_t>(part_.count), 0.0f);
            for (int sample = 0; sample != part_.count; ++sample) {
                float* dx = o.dxs[k] + static_cast<std::size_t>(sample) * o.x_size(k) - begin;
                const float* dy = o.dy + static_cast<std::size_t>(sample) * row.size;
                for (std::size_t j = 0; j != row.size; ++j)
                    if (const std::int32_t at = row.moved.from[j]; at >= begin && at < begin + size) dx[at] += dy[j];
            }
        }
    }
    void pass_back(std::size_t i, float* gradient) noexcept {
        const tape_row& row = tape_->rows[i];
        const node& n = nodes_[i];
        gradient_operands o = operands_of(i);
        o.y = before(i);
        o.dy = gradient_of_part(i);
        std::size_t temporary = tape_->temporary_at;
        for (int k = 0; k != n.input_count; ++k) {
            const auto x = static_cast<std::size_t>(n.inputs[k]);
            if (!tape_->passes_on(i, k)) continue;
            if (row.adds[static_cast<std::size_t>(k)]) {
                o.dxs[k] = floats(temporary);
                temporary += align_up(sizeof(float) * static_cast<std::size_t>(tape_->block) * tape_->rows[x].size);
            } else {
                o.dxs[k] = gradient_of_part(x);
            }
        }
        if (row.has_node) {
            const bool is_summed = row.is_live && part_.first != 0;  // the sums are those of all parts
            if (row.trains && !is_summed)
                o.d_block = gradient + static_cast<std::size_t>(n.at.parameter_offset) / sizeof(float);
            o.begins = begins_ && row.begins && part_.first == 0;
            if (row.gradient.moves) move_back(row, o);
            else row.gradient.backward(o);
        } else if (o.dxs[0] != nullptr) {
            std::memcpy(o.dxs[0], o.dy, sizeof(float) * part_count(i));
        }
        for (int k = 0; k != n.input_count; ++k) {
            if (o.dxs[k] == nullptr || !row.adds[static_cast<std::size_t>(k)]) continue;
            const auto x = static_cast<std::size_t>(n.inputs[k]);
            kernel::add_gradient<Arch>(o.dxs[k], part_count(x), gradient_of_part(x));
        }
    }

    /// Of a row's values in front of rounding.
    struct observed_values {
        observed_range range;
        bool is_finite = true;
    };

    const tape* tape_;
    std::vector<node> nodes_, coded_nodes_;
    large_buffer memory_;
    std::vector<const void*> ports_;  // where the inputs of the sample that runs lie
    std::vector<observed_values> observed_;
    tape_parameters with_;
    int samples_ = 0;
    part_of_block part_;
    bool quantizes_ = false, is_coded_ = false, begins_ = false;
};

}  // namespace zp::inline v0
