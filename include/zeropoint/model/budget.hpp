// What a network costs, as numbers that a program can assert when it is compiled.
#pragma once

#include <bit>
#include <cstdint>

#include <zeropoint/layer/operator_description.hpp>
#include <zeropoint/model/graph.hpp>

namespace zp {
inline namespace v0 {

/// Multiply-accumulates of one inference of a row: products of weights and activations, or of activations.
constexpr std::int64_t macs_of(const node& row) {
    if (row.kind == op::conv_transpose2d || row.kind == op::conv_transpose3d)
        return std::int64_t{row.in.pixels()} * row.weights;
    if (is_weighted(row.kind)) return std::int64_t{row.out.pixels()} * row.weights;
    return row.described == nullptr ? 0 : row.described->macs(row);
}

/// A quantize or dequantize inside of a network: where codes meet floats, beside its input and its output.
template <int N> constexpr bool is_boundary(const graph<N>& g, int i) {
    const node& row = g.nodes[i];
    if (row.kind == op::quantize) return g.nodes[row.inputs[0]].kind != op::input;
    return row.kind == op::dequantize && i != g.size - 1;
}

/// `static_assert(zp::budget_of<zp::quantized<net, my_qconfig>>.boundaries == 0)`
struct model_budget {
    std::int64_t parameter_bytes = 0;  ///< packed weights, tables and factors
    std::int64_t arena_bytes = 0;      ///< working memory of one call
    std::int64_t macs = 0;             ///< multiply-accumulates of one call
    int boundaries = 0;                ///< quantize and dequantize rows inside, beside those of input and output
    int rescales = 0;                  ///< requantize rows, and inputs that a concat may have to bring to its scale
};
template <int N> constexpr model_budget budget_of_graph(const graph<N>& g) {
    model_budget b{g.parameter_bytes, g.arena_bytes};
    for (int i = 0; i != g.size; ++i) {
        b.macs += macs_of(g.nodes[i]);
        b.boundaries += is_boundary(g, i);
        b.rescales += (g.nodes[i].kind == op::requantize) + std::popcount(g.nodes[i].requantized_inputs);
    }
    return b;
}
template <class Network> inline constexpr model_budget budget_of = budget_of_graph(Network::stage::table);

}  // namespace v0
}  // namespace zp
