// SPDX-License-Identifier: BSD-3-Clause
// Tapes of stages: of a float stage alone, and of the int8 network that is made of one.
#pragma once

#include <array>
#include <cstddef>

#include <zeropoint/model/stage.hpp>
#include <zeropoint/training/folded_norms.hpp>
#include <zeropoint/training/stage_gradients.hpp>
#include <zeropoint/training/tape.hpp>

namespace zp::inline v0::detail {

/// A row of a node of a float stage, whose inputs are rows of the tape.
template <class Stage> tape_row row_of_node(int i) {
    tape_row row;
    const auto at = static_cast<std::size_t>(i);
    row.rules = Stage::loose.nodes[i].rules;
    row.has_node = true;
    row.step = Stage::table.nodes[i].op->is_input ? nullptr : Stage::steps[at];
    row.gradient = stage_gradients<Stage>::rules[at];
    row.source = i;
    return row;
}

/// A tape of the nodes of a float stage, as they are. `has_live_norms` says whether batch norms take the statistics of a block.
template <class Stage> tape make_float_tape(int block, bool has_live_norms = false) {
    static_assert(sizeof(stage_gradients<Stage>) != 0);
    tape t;
    std::array<int, static_cast<std::size_t>(Stage::size)> values{};
    for (int i = 0; i != Stage::size; ++i) {
        node n = Stage::table.nodes[i];
        for (int k = 0; k != n.input_count; ++k)
            n.inputs[k] = static_cast<short>(values[static_cast<std::size_t>(n.inputs[k])]);
        int& value = values[static_cast<std::size_t>(i)];
        if (n.op->is_output) {
            value = n.inputs[0];
            t.outputs.push_back(value);
            continue;
        }
        tape_row row = row_of_node<Stage>(i);
        row.is_live = has_live_norms && row.gradient.running_mean != nullptr;
        value = t.append(n, row);
        if (n.op->is_input) t.inputs.push_back(value);
    }
    if (t.outputs.empty()) t.outputs.push_back(values.back());
    t.finish(block, static_cast<std::size_t>(Stage::table.parameter_bytes));
    return t;
}

/// A tape of an int8 network: a row for each of its nodes, and for each that is fused into one. `Prepared` is the float stage that it is
/// made of. `learns(qparams_id)` says whether scales are trained.
template <class Prepared, class Quantized> class coded_tape_maker {
public:
    template <class Learns> static tape make(int block, const Learns& learns) {
        static_assert(sizeof(stage_gradients<Prepared>) != 0);
        coded_tape_maker maker;
        tape& t = maker.add_all(learns);
        t.coded_nodes.assign(Quantized::table.nodes, Quantized::table.nodes + Quantized::size);
        t.coded_steps = Quantized::steps.data();
        t.coded_sums = sums_rules<Quantized>.data();
        for (int r = 0; r != Quantized::size; ++r)
            if (t.coded_sums[r].exists())
                t.rows[static_cast<std::size_t>(maker.filters_[static_cast<std::size_t>(r)])].sums_of = r;
        t.finish(block, static_cast<std::size_t>(Prepared::table.parameter_bytes));
        return t;
    }
    /// The same without the int8 network, whose codes nobody makes: with batch norms of a block's own statistics, and of those that were
    /// folded a row each.
    template <class Learns> static tape make_live(int block, const Learns& learns, const folded_norms& norms) {
        static_assert(sizeof(stage_gradients<Prepared>) != 0);
        coded_tape_maker maker;
        maker.norms_ = &norms;
        tape& t = maker.add_all(learns);
        for (tape_row& row : t.rows) row.is_live = row.gradient.running_mean != nullptr;
        t.finish(block, sizeof(float) * norms.floats());
        return t;
    }

private:
    template <class Learns> tape& add_all(const Learns& learns) {
        for (int r = 0; r != Quantized::size; ++r) add(r);
        if (tape_.outputs.empty()) tape_.outputs.push_back(values_.back());
        for (tape_row& row : tape_.rows) row.learns_range = row.rounding.exists() && learns(row.rounding.qparams_id);
        tape_.qparams_count = Quantized::table.qparams_count;
        return tape_;
    }
    int mapped(int coded_row) const { return values_[static_cast<std::size_t>(coded_row)]; }

    void add(int r) {
        const node& coded = Quantized::table.nodes[r];
        int& value = values_[static_cast<std::size_t>(r)];
        if (coded.op->is_output) {
            value = mapped(coded.inputs[0]);
            tape_.outputs.push_back(value);
        } else if (coded.op->is_boundary) {
            value = coded.op->to_float ? mapped(coded.inputs[0]) : add_change(r, coded);
        } else {
            value = add_node(r, coded);
            if (coded.op->is_input) tape_.inputs.push_back(value);
        }
    }
    /// Floats to codes, or codes of one range to those of another.
    int add_change(int r, const node& coded) {
        node n = coded;
        n.inputs[0] = static_cast<short>(mapped(coded.inputs[0]));
        n.out.storage = scalar_type::float32;
        tape_row row;
        row.source = coded.from.self;
        row.rounding = rounding_of(r, coded);
        return tape_.append(n, row);
    }
    int add_node(int r, const node& coded) {
        node n = node_of(coded.from.self);
        for (int k = 0; k != n.input_count; ++k) n.inputs[k] = static_cast<short>(mapped(coded.inputs[k]));
        int value = append(n, coded.from.self);
        filters_[static_cast<std::size_t>(r)] = value;
        if (coded.from.sum >= 0) {
            node sum = node_of(coded.from.sum);
            const int residual = mapped(coded.inputs[n.input_count]);
            const bool is_first = sum.inputs[0] == coded.from.self;
            sum.inputs[is_first ? 0 : 1] = static_cast<short>(value);
            sum.inputs[is_first ? 1 : 0] = static_cast<short>(residual);
            value = append(sum, coded.from.sum);
        }
        if (coded.from.lut >= 0) {
            tape_row& before = tape_.rows[static_cast<std::size_t>(value)];
            before.table = rounding_of(r, coded);
            before.table.qparams_id = coded.fused.lut_qparams_id;
            node function = node_of(coded.from.lut);
            function.inputs[0] = static_cast<short>(value);
            value = append(function, coded.from.lut);
        }
        tape_row& last = tape_.rows[static_cast<std::size_t>(value)];
        if (coded.out.is_codes()) {
            last.rounding = rounding_of(r, coded);
            last.rounding.is_exact = picks_codes(coded);
        } else if (coded.is_float() && !coded.op->is_input) {
            last.floats_of = r;
        }
        return value;
    }
    /// Whether codes of a node are those of its inputs, of which it picks.
    static bool picks_codes(const node& coded) {
        bool picks =
            coded.op->picks_values && coded.fused.is_empty() && coded.input_count != 0 && coded.requantized_inputs == 0;
        for (int k = 0; k != coded.input_count; ++k)
            picks = picks && Quantized::table.nodes[coded.inputs[k]].out.qparams_id == coded.out.qparams_id;
        return picks;
    }
    static tape_rounding rounding_of(int r, const node& coded) {
        return {r, coded.out.qparams_id, coded.out.storage, coded.out.quant_min, coded.out.quant_max};
    }
    static node node_of(int prepared) { return Prepared::table.nodes[prepared]; }
    int append(const node& n, int prepared) {
        tape_row row = row_of_node<Prepared>(prepared);
        row.is_observed = n.flags.observed && n.out.qparams_id >= 0;
        const folded_norm* norm = norms_ == nullptr ? nullptr : norms_->behind(prepared);
        return norm == nullptr ? tape_.append(n, row) : append_norm(n, row, *norm);
    }
    /// Filters without bounds, and behind them the norm with them.
    int append_norm(const node& n, const tape_row& row, const folded_norm& norm) {
        node filters = n;
        filters.fused = {};
        tape_row own = row, next = row;
        own.is_observed = false;
        node behind = folded_norms::node_of(norm, n);
        behind.inputs[0] = static_cast<short>(tape_.append(filters, own));
        next.rules = nullptr;
        next.step = nullptr;
        next.gradient = gradient_rule_of<operators::batch_norm_info, typename Prepared::architecture>;
        return tape_.append(behind, next);
    }

    const folded_norms* norms_ = nullptr;
    tape tape_;
    std::array<int, static_cast<std::size_t>(Quantized::size)> values_{},
        filters_{};  // of each row: its values; its own node
};

}  // namespace zp::inline v0::detail
