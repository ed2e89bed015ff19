// The first stage: what the user wrote, lowered once to a table.
#pragma once

#include <zeropoint/graph/builder.hpp>
#include <zeropoint/graph/ports.hpp>

namespace zp {
inline namespace v0 {

/// Whether two nodes may not have one name: outputs have names of their own, which inputs must not have either.
constexpr bool shares_names(const node& a, const node& b) {
    return a.op->is_output == b.op->is_output || a.op->is_input || b.op->is_input;
}
/// Names are hashed once each: comparing every pair as text costs seconds of compile time at a hundred names.
template <int N> constexpr void check_names(graph<N>& g) {
    unsigned hashes[N] = {};
    for (int i = 0; i != g.size; ++i) {
        unsigned hash = 2166136261u;  // FNV-1a
        for (const char* c = g.nodes[i].name; *c != 0; ++c) hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619u;
        hashes[i] = hash;
        if (g.nodes[i].name[0] == 0) continue;
        for (int j = 0; j != i; ++j) {
            if (hashes[j] != hash || !shares_names(g.nodes[i], g.nodes[j])) continue;
            const char *a = g.nodes[i].name, *b = g.nodes[j].name;
            while (*a != 0 && *a == *b) ++a, ++b;
            if (*a == *b) {
                g.error = {rule::duplicate_name, i, g.nodes[i].out.extents, g.nodes[j].out.extents};
                return;
            }
        }
    }
}

/// What does not lead to an output, which is the last node where none is marked, would run for nothing, and hide a mistake.
template <int N> constexpr void check_uses(graph<N>& g) {
    bool used[N] = {};
    for (int i = 0; i != g.size; ++i)
        for (int k = 0; k != g.nodes[i].input_count; ++k) used[g.nodes[i].inputs[k]] = true;
    const bool is_marked = marked_output_count(g) != 0;
    for (int i = 0; i != g.size; ++i) {
        if (used[i] || (is_marked ? g.nodes[i].op->is_output : i == g.size - 1)) continue;
        g.error = {rule::unused_value, i, g.nodes[i].out.extents, {}};
        return;
    }
}

template <class Net> consteval auto lower() {
    static_assert(
        requires(builder & b) {
            Net::nodes;
            Net::lower(b);
        },
        "Net must be a model: derive a struct from zp::model<zp::input<...>, layers...>, or give it a static int "
        "`nodes` and a static `lower(builder&)`");
    graph<Net::nodes> g;
    builder b(g.nodes, Net::nodes);
    Net::lower(b);
    g.size = b.size;
    g.error = b.error;
    for (int i = 0; i != g.size; ++i) g.nodes[i].from.self = static_cast<short>(i);
    if (g.error.broken == rule::none && (g.size == 0 || !g.nodes[0].op->is_input))
        g.error = {rule::no_input, 0, {}, {}};
    if (g.error.broken == rule::none && g.size == 1) g.error = {rule::no_layers, 0, {}, {}};
    number_ports(g);
    check_names(g);  // first: a zp::from of such a name takes the wrong one, and breaks another rule
    if (g.error.broken == rule::none) check_uses(g);
    return g;
}

template <class Net> struct source { static constexpr auto table = lower<Net>(); };

}  // namespace v0
}  // namespace zp
