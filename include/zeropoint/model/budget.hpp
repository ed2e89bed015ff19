// SPDX-License-Identifier: BSD-3-Clause
// What a network costs, as numbers that a program can assert when it is compiled.
#pragma once

#include <bit>
#include <cstdint>

#include <zeropoint/graph/graph.hpp>

namespace zp::inline v0 {

/// A quantize or dequantize inside of a network: where codes meet floats, beside its inputs and its outputs.
template <int N> constexpr bool is_boundary(const graph<N>& g, int i) {
    const node& n = g.nodes[i];
    if (!n.op->is_boundary) return false;
    bool is_read = false;
    for (int j = i + 1; j != g.size; ++j)
        for (int k = 0; k != g.nodes[j].input_count; ++k)
            is_read = is_read || (g.nodes[j].inputs[k] == i && !g.nodes[j].op->is_output);
    const node& value = g.nodes[n.inputs[0]];
    return is_read && value.is_float() != n.is_float() && !value.op->is_input;
}
/// Codes that are brought to another scale.
template <int N> constexpr bool is_rescaling(const graph<N>& g, int i) {
    const node& n = g.nodes[i];
    return n.op->is_boundary && n.out.is_codes() && g.nodes[n.inputs[0]].out.is_codes();
}

/// `static_assert(zp::budget_of<zp::quantized<net, my_qconfig>>.boundaries == 0)`
struct model_budget {
    std::int64_t parameter_bytes = 0;  ///< packed weights, tables and factors
    std::int64_t arena_bytes = 0;      ///< working memory of one call
    std::int64_t macs = 0;             ///< multiply-accumulates of one call
    int boundaries = 0;                ///< quantize and dequantize nodes inside, beside those of input and output
    int rescales = 0;                  ///< requantize nodes, and inputs that a concat may have to bring to its range
};
/// Of a planned table, and of the same graph with rules.
template <int N> constexpr model_budget budget_of_graph(const graph<N>& table, const graph<N>& with_rules) {
    model_budget b{table.parameter_bytes, table.arena_bytes};
    for (int i = 0; i != table.size; ++i) {
        b.macs += macs_of(with_rules.view(i));
        b.boundaries += is_boundary(table, i);
        b.rescales += is_rescaling(table, i) + std::popcount(table.nodes[i].requantized_inputs);
    }
    return b;
}
/// What a network takes, known when it is compiled: `static_assert(zp::budget_of<int8_net>.arena_bytes <= 8192)`.
template <class Network>
inline constexpr model_budget budget_of = budget_of_graph(Network::stage::table, Network::stage::loose);

}  // namespace zp::inline v0
