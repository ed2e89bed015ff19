// SPDX-License-Identifier: BSD-3-Clause
// The ports of a graph: what goes in and what comes out, in the order of declaration.
#pragma once

#include <array>
#include <cstddef>

#include <zeropoint/graph/graph.hpp>

namespace zp::inline v0 {

/// An input or an output of a model.
struct port {
    const char* name = "";                       // as zp::named and zp::output say, else "input" and "output"
    shape extents;                               // height x width x channels, depth of a volume
    scalar_type storage = scalar_type::float32;  ///< of the caller's memory: int32 of indices, uint8 or int8 of codes
    int node = -1;                               ///< which node it is
};

/// An input's or a marked output's number.
constexpr int port_number(const node& n) { return n.options[0]; }

template <int N> constexpr int input_count(const graph<N>& g) {
    int count = 0;
    for (int i = 0; i != g.size; ++i) count += g.nodes[i].op->is_input;
    return count;
}
template <int N> constexpr int marked_output_count(const graph<N>& g) {
    int count = 0;
    for (int i = 0; i != g.size; ++i) count += g.nodes[i].op->is_output;
    return count;
}
/// A graph without marks has one output, its last node.
template <int N> constexpr int output_count(const graph<N>& g) {
    const int marked = marked_output_count(g);
    return marked == 0 && g.size != 0 ? 1 : marked;
}

/// `Count` is input_count(g).
template <std::size_t Count, int N> constexpr std::array<port, Count> inputs_of(const graph<N>& g) {
    std::array<port, Count> all{};
    for (int i = 0; i != g.size; ++i)
        if (const node& n = g.nodes[i]; n.op->is_input)
            all[static_cast<std::size_t>(port_number(n))] = {n.name, n.out.extents, n.out.storage, i};
    return all;
}
/// `Count` is output_count(g). An output that nobody marked is called "output".
template <std::size_t Count, int N> constexpr std::array<port, Count> outputs_of(const graph<N>& g) {
    std::array<port, Count> all{};
    const bool is_marked = marked_output_count(g) != 0;
    for (int i = is_marked ? 0 : g.size - 1; i < g.size; ++i)
        if (const node& n = g.nodes[i]; n.op->is_output || !is_marked)
            all[is_marked ? static_cast<std::size_t>(port_number(n)) : 0] = {is_marked ? n.name : "output",
                                                                             n.out.extents, n.out.storage, i};
    return all;
}

/// Gives inputs and marked outputs their numbers.
template <int N> constexpr void number_ports(graph<N>& g) {
    int inputs = 0, outputs = 0;
    for (int i = 0; i != g.size; ++i) {
        node& n = g.nodes[i];
        if (n.op->is_input) n.options[0] = inputs++;
        if (n.op->is_output) n.options[0] = outputs++;
    }
}

}  // namespace zp::inline v0
