// SPDX-License-Identifier: BSD-3-Clause
// The nodes of an int8 network: codes where the qconfig says so, and what stands between codes and floats.
#pragma once

#include <cstdint>

#include <zeropoint/graph/ports.hpp>
#include <zeropoint/graph/rewriter.hpp>
#include <zeropoint/pass/shared_ranges.hpp>

namespace zp::inline v0 {

/// What a rule of a qconfig means for a node, as plain numbers.
struct quantization_rule {
    scalar_type activation = scalar_type::uint8, weight = scalar_type::int8;
    std::int32_t quant_min = 0, quant_max = 255, weight_min = -128, weight_max = 127;
    bool affine_weights = false;
    int table_bits = 8;      // of the codes in front of a fused table
    int embedding_bits = 8;  // of embeddings' tables: 8 or 4

    constexpr void set_codes(value_type& y) const {
        y.storage = activation;
        y.quant_min = quant_min;
        y.quant_max = quant_max;
    }
};

/// The operators that stand where values change their type: the pass is given them, and knows none.
struct boundary_operators {
    const operator_info *quantize, *dequantize, *requantize;
    const operator_rules* rules;
};

/// At most so many nodes an int8 network has: those of the prepared one, each value once more as floats or as codes, and a
/// requantize for every input of a concat or another that must have its range.
template <int N> constexpr int most_quantized_nodes(const graph<N>& g) {
    int nodes = 2 * g.size;
    for (int i = 0; i != g.size; ++i)
        nodes += g.nodes[i].op->inputs == input_rule::same_qparams ? g.nodes[i].input_count : 0;
    return nodes;
}

/// Makes the table of an embedding codes of so many bits, with a scale and an offset a row, which give floats.
constexpr void make_coded_table(node& n, int bits) {
    n.weights.storage = scalar_type::uint8;
    n.weights.quant_min = 0;
    n.weights.quant_max = (1 << bits) - 1;
}
/// The rewriter with both forms of each value. `describe(rule)` gives the quantization_rule of a number.
template <int M, int N, class Describe> class quantizing_rewriter : public rewriter<M, N> {
    using base = rewriter<M, N>;

public:
    constexpr quantizing_rewriter(const graph<N>& from, Describe describe, const boundary_operators& between)
        : base(from), describe_(describe), between_(between) {
        for (int i = 0; i != N; ++i) as_float[i] = as_codes[i] = -1;
    }
    int as_float[N] = {}, as_codes[N] = {};  // which node of the result has a value of the source; -1: none yet

    constexpr quantization_rule rule_of(const node& n) const { return describe_(n.config); }
    constexpr int floats(int i) {
        if (as_float[i] < 0) as_float[i] = boundary(between_.dequantize, as_codes[i], i);
        return as_float[i];
    }
    constexpr int codes(int i) {
        if (as_codes[i] < 0) as_codes[i] = boundary(between_.quantize, as_float[i], i);
        return as_codes[i];
    }
    /// To the codes of another node's range.
    constexpr int requantized(int from, int node_of_range) {
        return boundary(between_.requantize, from, node_of_range);
    }
    constexpr const value_type& value(int i) const { return base::result.nodes[i].out; }

private:
    constexpr int boundary(const operator_info* op, int from, int old) {
        const node& range = base::source.nodes[old];
        node n;
        n.op = op;
        n.rules = between_.rules;
        n.input_count = 1;
        n.inputs[0] = static_cast<short>(from);
        n.out.extents = value(from).extents;
        n.out.flattened = value(from).flattened;
        n.out.qparams_id = range.out.qparams_id;
        n.config = range.config;
        n.number = range.number;
        n.from.self = static_cast<short>(old);
        n.flags.keep_float = op->to_float;
        if (!op->to_float) describe_(range.config).set_codes(n.out);
        return base::append(n);
    }
    Describe describe_;
    boundary_operators between_;
};

/// Whether a node computes with codes of 16 bits at one end at least.
template <class Rewriter> constexpr bool is_int16(const Rewriter& to, const node& n) {
    for (int k = 0; k != n.input_count; ++k)
        if (to.value(n.inputs[k]).storage == scalar_type::int16) return true;
    return n.out.storage == scalar_type::int16;
}
/// Whether a node of the result takes what one behind it gives.
template <class Rewriter>
constexpr bool may_merge(const Rewriter& to, const node& into, const node& self, unsigned what) {
    return (into.op->takes & self.op->gives & what) != 0 && into.fused.clamp == nullptr && into.fused.lut == nullptr &&
           into.config == self.config && !is_int16(to, into);
}

/// The function of node i behind the sums of the node in front of it. y = table[requantize(accumulator)].
template <class Rewriter> constexpr bool merge_function(Rewriter& to, int i, const node& n) {
    const int x = n.inputs[0];
    if ((n.op->gives & function) == 0 || to.uses[x] != 1 || to.as_codes[x] < 0) return false;
    node& before = to.result.nodes[to.as_codes[x]];
    if (!may_merge(to, before, n, function)) return false;
    before.fused.lut = n.op;
    before.fused.lut_parameter = n.parameter;
    before.fused.lut_qparams_id = before.out.qparams_id;
    before.fused.lut_bits = static_cast<std::int8_t>(to.rule_of(n).table_bits);
    before.out.qparams_id = n.out.qparams_id;
    before.from.lut = static_cast<short>(i);
    to.as_codes[i] = to.as_codes[x];
    return true;
}
/// The sum of node i into the node that makes the later one of its operands. y = requantize(accumulator + residual).
template <class Rewriter> constexpr bool merge_sum(Rewriter& to, int i, const node& n) {
    if ((n.op->gives & addend) == 0) return false;
    const int operands[] = {to.codes(n.inputs[0]), to.codes(n.inputs[1])};
    const int later = operands[0] > operands[1] ? 0 : 1;
    node& before = to.result.nodes[operands[later]];
    if (!may_merge(to, before, n, addend) || before.input_count != 1 || to.uses[n.inputs[later]] != 1 ||
        to.value(operands[1 - later]).storage != before.out.storage)
        return false;
    n.rules->merge(before, n);
    before.inputs[before.input_count++] = static_cast<short>(operands[1 - later]);
    to.as_codes[i] = operands[later];
    return true;
}

/// The weights of a node over codes, and whether its sums stay in int32.
template <class Rewriter>
constexpr void quantize_weights(Rewriter& to, node& n, const quantization_rule& how, const shape& in) {
    n.weights.storage = how.weight;
    n.weights.products = scalar_type::int8;
    n.weights.quant_min = how.weight_min;
    n.weights.quant_max = how.weight_max;
    n.weights.affine = how.affine_weights;
    if (sums_overflow(n, to.value(n.inputs[0]))) to.fail(rule::accumulator_overflow, in, n.out.extents);
}

/// A node over codes: its inputs, its own type, and whether it has a form for them.
template <class Rewriter> constexpr node quantize_node(Rewriter& to, int i, node n) {
    const shape in = to.source.view(i).x_shape(), out = n.out.extents;
    const quantization_rule how = to.rule_of(n);
    if (n.op->refuses_codes) to.fail(rule::no_quantized_form, in, out);
    const bool takes_type = keeps_qparams(n) || derives_qparams(n);
    if (takes_type) {
        const value_type& x = to.value(to.codes(n.inputs[0]));
        n.out.storage = x.storage;
        n.out.quant_min = x.quant_min;
        n.out.quant_max = x.quant_max;
    } else {
        how.set_codes(n.out);
    }
    const bool converts = n.op->multiplies || n.op->function != nullptr;
    for (int k = 0; k != n.input_count; ++k) {
        int x = to.codes(n.inputs[k]);
        const value_type value = to.value(x);
        if (n.op->inputs == input_rule::same_qparams) {
            const bool differs = value.qparams_id != n.out.qparams_id;
            const bool may_share = value.storage == how.activation && may_share_range(to.source, n.inputs[k], n);
            if (may_share && differs && n.op->requantizes_inputs) {
                n.requantized_inputs = static_cast<std::uint8_t>(n.requantized_inputs | 1u << k);
            } else if (!may_share || differs) {
                x = to.requantized(x, i);
                to.result.nodes[x].flags.unshared = may_share;
            }
        } else if (!converts && value.storage != n.out.storage)
            to.fail(value.storage != scalar_type::int16 || n.op->has_int16 ? rule::operand_types_differ
                                                                           : rule::no_int16_form,
                    in, out);
        n.inputs[k] = static_cast<short>(x);
    }
    if (is_int16(to, n)) {
        const bool narrows = n.op->multiplies && to.value(n.inputs[0]).storage == scalar_type::int16;
        if (!n.op->has_int16) to.fail(rule::no_int16_form, in, out);
        else if (!is_parameter(n) && !narrows && to.value(n.inputs[0]).storage != n.out.storage)
            to.fail(rule::operand_types_differ, in, out);
    }
    if (n.op->multiplies) quantize_weights(to, n, how, in);
    return n;
}

/// The nodes of the int8 network: quantize and dequantize where a float island meets codes and at ports of floats, requantize where
/// an input of a concat keeps a scale of its own, tables fused into the layer in front of them, and with `merges_sums` adds
/// into the layer that makes the later one of their operands. `make_weights(nodes, node)` may give a node that stays float, and
/// reads others of `nodes`, integer weights.
template <int M, int N, class Describe, class MakeWeights>
constexpr graph<M> quantize_nodes(const graph<N>& g, Describe describe, MakeWeights make_weights, bool merges_sums,
                                  const boundary_operators& between) {
    quantizing_rewriter<M, N, Describe> to(g, describe, between);
    for (int i = 0; i != g.size; ++i) {
        node n = g.nodes[i];
        n.from = {};
        n.from.self = static_cast<short>(i);
        if (reads_no_values(n)) {
            const int read = n.inputs[0];
            n.inputs[0] = static_cast<short>(to.as_float[read] >= 0 ? to.as_float[read] : to.as_codes[read]);
            const quantization_rule how = to.rule_of(n);
            const bool is_float = n.flags.keep_float || how.embedding_bits != 8 || n.op->table_gives_floats;
            if (!is_float) how.set_codes(n.out);
            else if (!n.flags.keep_float) make_coded_table(n, how.embedding_bits);
            (is_float ? to.as_float : to.as_codes)[i] = to.append(n);
        } else if (n.op->is_input && n.flags.port_codes) {
            to.rule_of(n).set_codes(n.out);
            to.as_codes[i] = to.append(n);
        } else if (n.op->is_output) {
            const int value = n.flags.port_codes ? to.codes(n.inputs[0]) : to.floats(n.inputs[0]);
            n.inputs[0] = static_cast<short>(value);
            n.out.storage = to.value(value).storage;
            n.out.quant_min = to.value(value).quant_min;
            n.out.quant_max = to.value(value).quant_max;
            to.append(n);
        } else if (n.op->is_input || n.flags.keep_float) {
            for (int k = 0; k != n.input_count; ++k) n.inputs[k] = static_cast<short>(to.floats(n.inputs[k]));
            if (!n.op->is_input) make_weights(to.result.nodes, n);
            to.as_float[i] = to.append(n);
        } else if (!merge_function(to, i, n) && !(merges_sums && merge_sum(to, i, n))) {
            n = quantize_node(to, i, n);
            to.as_codes[i] = to.append(n);
        }
    }
    if (marked_output_count(g) != 0) return to.result;
    if (g.nodes[g.size - 1].flags.port_codes) to.codes(g.size - 1);
    else to.floats(g.size - 1);
    return to.result;
}

}  // namespace zp::inline v0
