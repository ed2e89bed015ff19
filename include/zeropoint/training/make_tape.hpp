// Tapes of stages: of a float stage alone, and of the int8 network that is made of one.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <zeropoint/model/stage.hpp>
#include <zeropoint/model/verdict.hpp>
#include <zeropoint/training/gradients.hpp>
#include <zeropoint/training/tape.hpp>

namespace zp {
inline namespace v0 {

/// What the user reads where something is trained in front of an operator that has no gradient.
template <fixed_string Layer, class Net> struct layer_without_gradient {
    static_assert(sizeof(Net) == 0,
                  "train: this layer has no gradient, and something in front of it is trained (see "
                  "layer_without_gradient<Layer, Model>): give its kind one, template <> struct "
                  "zp::gradient_of<kind>, or train what stands behind it alone");
};

/// The gradients of a float stage's nodes.
template <class Stage> struct stage_gradients {
    static constexpr auto rules = detail::for_each_node<gradient_rule, Stage::size>(
        []<int Node>() { return gradient_rule_of<*Stage::loose.nodes[Node].op, typename Stage::architecture>; });
    /// The first node without a gradient that is asked for one; -1: none.
    static constexpr int missing = [] {
        bool asks[static_cast<std::size_t>(Stage::size) + 1]{};
        for (int i = 0; i != Stage::loose.size; ++i) {
            const node& n = Stage::loose.nodes[i];
            const gradient_rule& rule = rules[static_cast<std::size_t>(i)];
            bool in_front = false;
            for (int k = 0; k != n.input_count; ++k) in_front = in_front || asks[n.inputs[k]];
            if (n.op->inputs == input_rule::extents) in_front = false;
            if (in_front && !rule.exists() && !n.op->is_output) return i;
            asks[i] = in_front || (rule.trained != 0 && parameters_of(Stage::loose.view(i)).count != 0);
        }
        return -1;
    }();
    static constexpr auto check() {
        if constexpr (missing >= 0) {
            constexpr const node& n = Stage::loose.nodes[missing];
            constexpr std::string_view name = n.name[0] != 0 ? n.name : n.op->name;
            return sizeof(layer_without_gradient<exact<name.size()>(name.data()), typename Stage::net>);
        } else {
            return std::size_t{1};
        }
    }
    static_assert(check() != 0);
};

namespace detail {

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

/// A tape of the nodes of a float stage, as they are.
template <class Stage> tape make_float_tape(int block) {
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
        value = t.append(n, row_of_node<Stage>(i));
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
        for (int r = 0; r != Quantized::size; ++r) maker.add(r);
        tape& t = maker.tape_;
        if (t.outputs.empty()) t.outputs.push_back(maker.values_.back());
        for (tape_row& row : t.rows) row.learns_range = row.rounding.exists() && learns(row.rounding.qparams_id);
        t.coded_nodes.assign(Quantized::table.nodes, Quantized::table.nodes + Quantized::size);
        t.coded_steps = Quantized::steps.data();
        t.qparams_count = Quantized::table.qparams_count;
        t.finish(block, static_cast<std::size_t>(Prepared::table.parameter_bytes));
        return t;
    }

private:
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
        return tape_.append(n, row);
    }

    tape tape_;
    std::array<int, static_cast<std::size_t>(Quantized::size)> values_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace zp
