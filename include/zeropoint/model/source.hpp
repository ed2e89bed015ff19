// The first stage: what the user wrote, lowered once to a table.
#pragma once

#include <zeropoint/layer/builder.hpp>
#include <zeropoint/model/graph.hpp>

namespace zp {
inline namespace v0 {

/// Names are hashed once each: comparing every pair as text costs seconds of compile time at a hundred names.
template <int N>
constexpr void check_names(graph<N>& g) {
    unsigned hashes[N] = {};
    for (int i = 0; i != g.size; ++i) {
        unsigned hash = 2166136261u;  // FNV-1a
        for (const char* c = g.nodes[i].name; *c != 0; ++c) hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619u;
        hashes[i] = hash;
        if (g.nodes[i].name[0] == 0) continue;
        for (int j = 0; j != i; ++j) {
            if (hashes[j] != hash) continue;
            const char *a = g.nodes[i].name, *b = g.nodes[j].name;
            while (*a != 0 && *a == *b) ++a, ++b;
            if (*a == *b) {
                g.error = {rule::duplicate_name, i, g.nodes[i].out, g.nodes[j].out};
                return;
            }
        }
    }
}

template <class Net>
consteval auto lower() {
    static_assert(requires(builder& b) { Net::nodes; Net::lower(b); },
                  "Net must be a model: derive a struct from zp::model<zp::input<...>, layers...>, or give it a static int `nodes` and a static `lower(builder&)`");
    graph<Net::nodes> g;
    builder b(g.nodes, Net::nodes);
    Net::lower(b);
    g.size = b.size;
    g.error = b.error;
    for (int i = 0; i != g.size; ++i) g.nodes[i].origin = static_cast<short>(i);
    if (g.error.broken == rule::none && (g.size == 0 || g.nodes[0].kind != op::input)) g.error = {rule::no_input, 0, {}, {}};
    if (g.error.broken == rule::none) check_names(g);
    return g;
}

template <class Net>
struct source {
    static constexpr auto table = lower<Net>();
};

}  // namespace v0
}  // namespace zp
