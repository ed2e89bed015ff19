// SPDX-License-Identifier: BSD-3-Clause
// What goes into a model: images of floats, or indices.
#pragma once

#include <array>

#include <zeropoint/graph/builder.hpp>
#include <zeropoint/graph/form.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind input{"input"};
}
namespace operators {

inline constexpr std::array<const char*, 1> port_option{"port"};

inline constexpr operator_info input = [] {
    operator_info info;
    info.kind = &op::input;
    info.name = "input";
    info.option_names = port_option;
    info.signed_by_kind = info.is_input = true;
    info.stream = stream_rule::pointwise;
    return info;
}();
inline constexpr operator_rules input_rules{};

/// The caller's memory is read where it is.
struct input_form {
    static constexpr run_function run_pointer = &run_nothing;
};

}  // namespace operators

template <> struct forms_of<op::input> {
    static constexpr bool is_keyed = true;
    static constexpr int key(const node_view&) { return 0; }
    template <int, class, class> using form = operators::input_form;
};

constexpr int builder::input(shape extents, const char* name) {
    node n;
    n.op = &operators::input;
    n.rules = &operators::input_rules;
    n.name = name;
    n.out.extents = extents;
    return append(n);
}
constexpr int builder::indices(int count, const char* name) {
    const int x = input({1, count, 1}, name);
    nodes[x].out.storage = scalar_type::int32;
    return x;
}

}  // namespace zp::inline v0
