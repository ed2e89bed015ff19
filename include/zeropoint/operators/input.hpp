// What goes into a model: an image of floats, or indices.
#pragma once

#include <zeropoint/graph/builder.hpp>
#include <zeropoint/graph/form.hpp>

namespace zp {
inline namespace v0 {
namespace op {
inline constexpr operator_kind input{"input"};
}
namespace operators {

inline constexpr operator_info input = [] {
    operator_info info;
    info.kind = &op::input;
    info.name = "input";
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

constexpr int builder::input(shape extents) {
    node n;
    n.op = &operators::input;
    n.rules = &operators::input_rules;
    n.name = "input";
    n.out.extents = extents;
    return append(n);
}
constexpr int builder::indices(int count) {
    const int x = input({1, count, 1});
    nodes[x].out.storage = scalar_type::int32;
    return x;
}

}  // namespace v0
}  // namespace zp
