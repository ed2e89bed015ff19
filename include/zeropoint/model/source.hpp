// SPDX-License-Identifier: BSD-3-Clause
// The first stage: what the user wrote, lowered once to a table.
#pragma once

#include <concepts>

#include <zeropoint/core/type_name.hpp>
#include <zeropoint/graph/builder.hpp>
#include <zeropoint/graph/ports.hpp>
#include <zeropoint/operators/input.hpp>

namespace zp::inline v0 {

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

/// The user's model: a static number of rows, `nodes`, and a function that appends them.
template <class Net> concept described_model = requires(builder& b) {
    { Net::nodes } -> std::convertible_to<int>;
    Net::lower(b);
};

/// Of messages about what is none.
template <class Net>
inline constexpr row_text model_name = [] {
    row_text text;
    text.add(type_name<Net>());
    return text;
}();

template <class Net> consteval auto lower() {
    constexpr bool is_described = described_model<Net>;
    constexpr int capacity = [] {
        if constexpr (described_model<Net>) return static_cast<int>(Net::nodes);
        else return 1;
    }();
    graph<capacity> g;
    builder b(g.nodes, capacity);
    if constexpr (is_described) Net::lower(b);
    else {
        b.fail(rule::not_a_model);
        b.error.name = model_name<Net>.text;
    }
    g.size = b.size;
    g.error = b.error;
    for (int i = 0; i != g.size; ++i) g.nodes[i].from.self = g.nodes[i].number = static_cast<short>(i);
    if (g.error.broken == rule::none && (g.size == 0 || !g.nodes[0].op->is_input))
        g.error = {rule::no_input, 0, {}, {}};
    if (g.error.broken == rule::none && g.size == 1) g.error = {rule::no_layers, 0, {}, {}};
    number_ports(g);
    check_names(g);  // first: a zp::from of such a name takes the wrong one, and breaks another rule
    if (g.error.broken == rule::none) check_uses(g);
    name_culprit(g);
    return g;
}

namespace detail {

inline constexpr operator_kind stand_in_kind{"stand_in"};
inline constexpr operator_info stand_in = [] {
    operator_info info;
    info.kind = &stand_in_kind;
    info.name = stand_in_kind.name;
    info.inputs = input_rule::extents;
    info.has_codes = info.takes_volumes = true;
    return info;
}();
inline constexpr operator_rules stand_in_rules{};

/// What goes on in place of a model that breaks a rule: its ports alone, so that no pass finds another mistake in what follows from the
/// first, and no call another number of values.
template <int N> constexpr auto ports_alone(const graph<N>& broken) {
    graph<N + 2> g;
    g.error = broken.error;
    const auto possible = [](const shape& s) {
        const bool fits = s.height > 0 && s.width > 0 && s.channels > 0 && s.depth > 0 && !s.is_too_large();
        return fits ? s : shape{};
    };
    const auto append = [&](node n) {
        n.out.extents = possible(n.out.extents);
        n.number = static_cast<short>(g.size);
        g.nodes[g.size++] = n;
    };
    for (int i = 0; i != broken.size; ++i)
        if (broken.nodes[i].op->is_input) append(broken.nodes[i]);
    if (g.size == 0) {
        node input;
        input.op = &operators::input;
        input.rules = &operators::input_rules;
        input.name = "input";
        append(input);
    }
    node all;
    all.op = &stand_in;
    all.rules = &stand_in_rules;
    all.input_count = 1;
    all.out.extents = broken.size == 0 ? shape{} : broken.nodes[broken.size - 1].out.extents;
    append(all);
    const int made = g.size - 1;
    for (int i = 0; i != broken.size; ++i)
        if (node n = broken.nodes[i]; n.op->is_output) {
            n.inputs[0] = static_cast<short>(made);
            append(n);
        }
    for (int i = 0; i != g.size; ++i) g.nodes[i].from.self = static_cast<short>(i);
    number_ports(g);
    return g;
}

template <class Source> inline constexpr auto ports_of_source = ports_alone(Source::written);
template <class Source> constexpr const auto& table_of() {
    if constexpr (Source::is_valid) return Source::written;
    else return ports_of_source<Source>;
}

}  // namespace detail

/// `table` is what passes go on from: the model's rows, or where those break a rule its ports alone.
template <class Net> struct source {
    static constexpr auto written = lower<Net>();
    static constexpr bool is_valid = written.error.broken == rule::none;
    static constexpr const auto& table = detail::table_of<source>();
};

}  // namespace zp::inline v0
