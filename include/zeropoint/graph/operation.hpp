// SPDX-License-Identifier: BSD-3-Clause
// What a custom operator is checked for: that it has what it must have, that what else it has is declared as it is read, and that no
// member is one letter away from a name that is read. A member that nothing reads would do nothing, silently.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/graph/operands.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>

namespace zp::inline v0 {
namespace detail {

template <class Operator, class Arch, class T> concept has_architectures = requires(const operands<T>& o) {
    Operator::template forward<Arch>(o);
};
template <class Operator, class Arch, class T>
concept has_form = has_architectures<Operator, Arch, T> || requires(const operands<T>& o) {
    Operator::forward(o);
};

struct member_check {
    bool is_right;
    std::string_view name, meant = {};
};
template <std::size_t N> constexpr member_check first_wrong(const member_check (&all)[N]) {
    for (const member_check& one : all)
        if (!one.is_right) return one;
    return {true, {}};
}

/// The first optional member that is there and cannot be used as zp::custom says of it. What is a template or overloaded is not looked
/// at: it has no one address.
template <class O>
inline constexpr member_check otherwise_declared = [] { const member_check all[] = {{!requires {&O::parameters; } ||
                                                   requires(const node_view& v) {
    parameter_list(O::parameters(v));
}
|| requires(shape x) { parameter_list(O::parameters(x)); }
, "parameters"
}
, {!requires {&O::accepts;
}
|| requires(std::span<const shape> xs) { bool(O::accepts(xs)); }
|| requires(shape x) { bool(O::accepts(x)); }
, "accepts"
}
, {!requires {&O::expected_shape;
}
|| requires(shape x) { shape(O::expected_shape(x)); }
, "expected_shape"
}
, {!requires {&O::options;
}
|| requires { std::span<const int>(O::options); }
, "options"
}
, {!requires {&O::prepare;
}
|| requires(const preparation& p) { O::prepare(p); }
, "prepare"
}
, {!requires {&O::prepared_bytes;
}
|| requires(const node_view& v) { int(O::prepared_bytes(v)); }
, "prepared_bytes"
}
, {!requires {&O::problem;
}
|| requires(const preparation& p) { refusal{O::problem(p)}; }
, "problem"
}
, {!requires {&O::scratch_bytes;
}
|| requires(const node_view& v) { int(O::scratch_bytes(v)); }
, "scratch_bytes"
}
, {!requires {&O::states;
}
|| requires(const node_view& v) { state_list(O::states(v)); }
, "states"
}
, {!requires {&O::channel_groups;
}
|| requires(const node_view& v) { int(O::channel_groups(v)); }
, "channel_groups"
}
, {!requires {&O::bound;
}
|| requires(const node_view& v) { index_bound(O::bound(v)); }
, "bound"
}
, {!requires {&O::macs;
}
|| requires(const node_view& v) { std::int64_t(O::macs(v)); }
, "macs"
}
, {!requires {&O::derive;
}
|| requires(const qparams& x) { qparams(O::derive(x)); }
|| requires(const node_view& v, const qparams& x) { qparams(O::derive(v, x)); }
, "derive"
}
, {!requires {&O::contract;
}
|| requires(const node* nodes, int i, node& n) { bool(O::contract(nodes, i, n)); }
, "contract"
}
, {requires {&O::output_min;
}
== requires { &O::output_max; }
, "output_min or output_max, without the other"
}
,
}
;
return first_wrong(all);
}
();

/// The first member whose name is nearly that of one which is read. A program cannot list the members of a type, so these are the
/// spellings that come to mind; of a `parameters` by any other name the loader says that the file has more than the network.
template <class O>
inline constexpr member_check misspelt = [] { const member_check all[] = {{!requires {&O::parameter; },
                              "parameter", "parameters"
}
, {!requires {&O::paramters;
}
, "paramters", "parameters"
}
, {!requires {&O::paramaters;
}
, "paramaters", "parameters"
}
, {!requires {&O::parametres;
}
, "parametres", "parameters"
}
, {!requires {&O::params;
}
, "params", "parameters"
}
, {!requires {&O::num_parameters;
}
, "num_parameters", "parameters"
}
, {!requires {&O::parameter_count;
}
, "parameter_count", "parameters"
}
, {!requires {&O::weights;
}
, "weights", "parameters"
}
, {!requires {&O::accept;
}
, "accept", "accepts"
}
, {!requires {&O::option;
}
, "option", "options"
}
, {!requires {&O::take_int16;
}
, "take_int16", "takes_int16"
}
, {!requires {&O::take_volumes;
}
, "take_volumes", "takes_volumes"
}
, {!requires {&O::takes_volume;
}
, "takes_volume", "takes_volumes"
}
, {!requires {&O::element_wise;
}
, "element_wise", "elementwise"
}
, {!requires {&O::is_elementwise;
}
, "is_elementwise", "elementwise"
}
, {!requires {&O::prepare_bytes;
}
, "prepare_bytes", "prepared_bytes"
}
, {!requires {&O::prepared_size;
}
, "prepared_size", "prepared_bytes"
}
, {!requires {&O::scratch_size;
}
, "scratch_size", "scratch_bytes"
}
, {!requires {&O::scratch;
}
, "scratch", "scratch_bytes"
}
, {!requires {&O::state;
}
, "state", "states"
}
, {!requires {&O::channel_group;
}
, "channel_group", "channel_groups"
}
, {!requires {&O::problems;
}
, "problems", "problem"
}
, {!requires {&O::mac;
}
, "mac", "macs"
}
, {!requires {&O::ouput_min;
}
, "ouput_min", "output_min"
}
, {!requires {&O::ouput_max;
}
, "ouput_max", "output_max"
}
,
}
;
return first_wrong(all);
}
();

}  // namespace detail

/// What makes a type an operator: `kind`, its name; an output_shape; and a float form, `forward(const operands<float>&)`.
template <class Operator> concept describes_operator = requires(shape x) {
    { Operator::kind } -> std::convertible_to<const char*>;
    requires requires {
        { Operator::output_shape(x) } -> std::same_as<shape>;
    } || requires(std::span<const shape> xs) {
        { Operator::output_shape(xs) } -> std::same_as<shape>;
    };
    requires detail::has_form<Operator, default_architecture, float>;
};
/// What zp::custom takes: an operator whose other members are read too. `static_assert(zp::operation<scaled_add>)` asks beside the
/// operator; zp::custom lists the members (graph/define.hpp).
template <class Operator> concept operation = describes_operator<Operator> && detail::otherwise_declared<Operator>
.is_right&& detail::misspelt<Operator>.is_right;

/// What the user reads where an operator is none. One of the three.
template <class Operator, fixed_string Otherwise, fixed_string Misspelt, fixed_string Meant> struct custom_operator {
    static constexpr bool is_described = describes_operator<Operator>, is_declared = Otherwise.view().empty();
    static_assert(is_described,
                  "custom<Name, Operator, ...>: Operator must have static members `kind`, `output_shape(shape)` and "
                  "`forward(const zp::operands<float>&)`: see graph/define.hpp");
    static_assert(is_declared || !is_described,
                  "custom<Name, Operator, ...>: a static member of Operator is not declared as it is read (see "
                  "custom_operator<Operator, the member, ...>), and would do nothing: graph/define.hpp says what it "
                  "takes and gives; parameters, for one, takes a zp::shape, of the first input, or a const "
                  "zp::node_view&");
    static_assert(Misspelt.view().empty() || !is_declared || !is_described,
                  "custom<Name, Operator, ...>: nothing reads a member of that name (see custom_operator<Operator, "
                  "\"\", the member, the one that was probably meant>): graph/define.hpp has the list of members");
};

}  // namespace zp::inline v0
