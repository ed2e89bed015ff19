// SPDX-License-Identifier: BSD-3-Clause
// Operators as types: static members say what an operator is, and its record, its forms and its layer follow.
#pragma once

#include <concepts>
#include <new>
#include <span>
#include <type_traits>

#include <zeropoint/core/fixed_string.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/graph/operation.hpp>
#include <zeropoint/graph/sequential.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>

namespace zp::inline v0 {

namespace detail {

template <class Operator>
inline constexpr bool takes_int16 = [] {
    if constexpr (requires { Operator::takes_int16; }) return Operator::takes_int16;
    else return false;
}();

template <class Operator, class Arch, class T> void run_operator(const node& n, const context& c) noexcept {
    const operands<T> o(n, c);
    if constexpr (requires { Operator::states(o.at()); }) c.begin_state(n);
    if constexpr (has_architectures<Operator, Arch, T>) Operator::template forward<Arch>(o);
    else Operator::forward(o);
}
template <class Operator, class Arch, class T> constexpr run_function run_of_operator() {
    if constexpr (std::is_same_v<T, std::int16_t> && !takes_int16<Operator>) return nullptr;
    else if constexpr (has_form<Operator, Arch, T>) return &run_operator<Operator, Arch, T>;
    else return nullptr;
}

// Members that an operator may leave out.

template <class Operator> constexpr parameter_list parameters_over([[maybe_unused]] const node_view& v) {
    if constexpr (requires { Operator::parameters(v); }) return Operator::parameters(v);
    else if constexpr (requires { Operator::parameters(v.x_shape()); }) return Operator::parameters(v.x_shape());
    else return {};
}
template <class Operator> constexpr shape output_shape_of(std::span<const shape> xs) {
    if constexpr (requires { Operator::output_shape(xs); }) return Operator::output_shape(xs);
    else return Operator::output_shape(xs[0]);
}
template <class Operator> constexpr bool accepts(std::span<const shape> xs) {
    if constexpr (requires { Operator::accepts(xs); }) return Operator::accepts(xs);
    else if constexpr (requires { Operator::accepts(xs[0]); }) return Operator::accepts(xs[0]);
    else return true;
}
template <class Operator, class Arch> constexpr int prepared_bytes_of([[maybe_unused]] const node_view& v) {
    if constexpr (requires { Operator::template prepared_bytes<Arch>(v); })
        return Operator::template prepared_bytes<Arch>(v);
    else if constexpr (requires { Operator::prepared_bytes(v); }) return Operator::prepared_bytes(v);
    else if constexpr (requires { typename Operator::prepared; })
        return static_cast<int>(sizeof(typename Operator::prepared));
    else return 0;
}

/// The forms of an operator but for their bodies: a block of its floats and what it prepares, or of codes that it packs.
template <class Operator, class Arch> struct operator_block {
    static constexpr bool packs_codes = requires(const preparation& p, const node_parameters& from) {
        Operator::template pack<Arch>(p, from);
    };
    static constexpr int parameter_bytes(const node_view& v) {
        if (!v.n.is_float()) return prepared_offset(v.n) + prepared_bytes_of<Operator, Arch>(v);
        // A list is large: making an empty one for each row costs compile time.
        if constexpr (requires { Operator::parameters(v); }) return parameters_over<Operator>(v).bytes();
        else if constexpr (requires { Operator::parameters(v.x_shape()); }) return parameters_over<Operator>(v).bytes();
        else return 0;
    }
    static constexpr int scratch_bytes([[maybe_unused]] const node_view& v) {
        if constexpr (requires { Operator::template scratch_bytes<Arch>(v); })
            return Operator::template scratch_bytes<Arch>(v);
        else if constexpr (requires { Operator::scratch_bytes(v); }) return Operator::scratch_bytes(v);
        else return 0;
    }
    static constexpr bool computes_alike([[maybe_unused]] const node_view& part,
                                         [[maybe_unused]] const node_view& whole) {
        if constexpr (requires { Operator::computes_alike(part, whole); }) return Operator::computes_alike(part, whole);
        else return true;
    }
    static refusal pack(const preparation& p, const node_parameters& from) {
        if constexpr (packs_codes)
            if (!p.at.n.is_float()) return {Operator::template pack<Arch>(p, from)};
        write_floats(p.at, from, p.block);
        if (p.at.n.is_float()) return {};
        if constexpr (requires { Operator::problem(p); })
            if (const refusal wrong{Operator::problem(p)}; wrong.rule != nullptr) return wrong;
        if constexpr (requires {
                          { Operator::prepare(p) } -> std::same_as<typename Operator::prepared>;
                      })
            new (p.prepared()) typename Operator::prepared(Operator::prepare(p));
        else if constexpr (requires { Operator::prepare(p); }) Operator::prepare(p);
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        if constexpr (packs_codes)
            if (!p.at.n.is_float()) return Operator::template unpack<Arch>(p);
        node_parameters to;
        read_floats(p.at, p.block, to);
        return to;
    }
};

template <class Operator> constexpr operator_info make_info(const operator_kind& kind) {
    operator_info info{};
    info.kind = &kind;
    if constexpr (requires { Operator::kind; }) info.name = Operator::kind;
    else info.name = kind.name;
    if constexpr (requires { Operator::options; }) info.options = Operator::options;
    if constexpr (requires { Operator::option_names; }) info.option_names = Operator::option_names;
    if constexpr (requires { Operator::range; }) info.range = Operator::range;
    if constexpr (requires { Operator::output_min; }) {
        info.output_min = Operator::output_min;
        info.output_max = Operator::output_max;
        if (info.output_min < info.output_max) info.range = qparams_source::known;
    }
    if constexpr (requires { Operator::closed_range; }) info.closed_range = Operator::closed_range;
    if constexpr (requires { Operator::inputs; }) info.inputs = Operator::inputs;
    if constexpr (requires { Operator::stream; }) info.stream = Operator::stream;
    if constexpr (requires { Operator::cut; }) info.cut = Operator::cut;
    if constexpr (requires { Operator::gives; }) info.gives = Operator::gives;
    if constexpr (requires { Operator::takes; }) info.takes = Operator::takes;
    if constexpr (requires { Operator::elementwise; }) info.elementwise = Operator::elementwise;
    if (info.elementwise && info.stream == stream_rule::whole) info.stream = stream_rule::pointwise;
    if constexpr (requires { Operator::moves_nothing; }) info.moves_nothing = Operator::moves_nothing;
    if constexpr (requires { Operator::picks_values; }) info.picks_values = Operator::picks_values;
    if constexpr (requires { Operator::homogeneous; }) info.homogeneous = Operator::homogeneous;
    if constexpr (requires { Operator::gain_arrays; }) info.gain_arrays = Operator::gain_arrays;
    if constexpr (requires { Operator::requantizes_inputs; }) info.requantizes_inputs = Operator::requantizes_inputs;
    if constexpr (requires { Operator::has_own_range; }) info.has_own_range = Operator::has_own_range;
    if constexpr (requires { Operator::is_view; }) info.is_view = Operator::is_view;
    if constexpr (requires { Operator::is_identity; }) info.is_identity = Operator::is_identity;
    if constexpr (requires { Operator::takes_volumes; }) info.takes_volumes = Operator::takes_volumes;
    if constexpr (requires { Operator::state_values; }) info.state_values = Operator::state_values;
    if constexpr (requires { Operator::any_length; }) info.any_length = Operator::any_length;
    if constexpr (requires { Operator::goes_back; }) info.goes_back = Operator::goes_back;
    if constexpr (requires { Operator::has_dynamic; }) info.has_dynamic = Operator::has_dynamic;
    if constexpr (requires { Operator::has_weight_only; }) info.has_weight_only = Operator::has_weight_only;
    if constexpr (requires { Operator::keeps_codes; }) info.keeps_codes = Operator::keeps_codes;
    if constexpr (requires { Operator::table_gives_floats; }) info.table_gives_floats = Operator::table_gives_floats;
    if constexpr (requires { Operator::signed_by_kind; }) info.signed_by_kind = Operator::signed_by_kind;
    if constexpr (requires { Operator::map; }) info.map = &Operator::map;
    if constexpr (requires { Operator::zeros; }) info.zeros = Operator::zeros;
    if (info.map != nullptr) info.gives |= channel_map;
    if (info.zeros != nullptr) info.gives |= zeros;
    info.has_codes =
        has_form<Operator, default_architecture, std::uint8_t> && has_form<Operator, default_architecture, std::int8_t>;
    if constexpr (requires { Operator::has_codes; }) info.has_codes = Operator::has_codes;  // by a keyed form
    info.has_int16 = takes_int16<Operator>;
    info.parameters = [](const node_view& v) { return parameters_over<Operator>(v); };
    if constexpr (requires(const node_view& v) { Operator::bound(v); }) info.bound = &Operator::bound;
    if constexpr (requires(const node_view& v) { Operator::states(v); }) info.states = &Operator::states;
    if constexpr (requires(const node_view& v) { Operator::channel_groups(v); })
        info.channel_groups = &Operator::channel_groups;
    return info;
}
template <class Operator> constexpr operator_rules make_rules(const operator_forms* forms) {
    operator_rules rules{};
    rules.forms = forms;
    if constexpr (requires { &Operator::merge; }) rules.merge = &Operator::merge;
    if constexpr (requires(const node_view& v, const qparams& x) { Operator::derive(v, x); })
        rules.derive = [](const node_view& v, const qparams& x) { return Operator::derive(v, x); };
    else if constexpr (requires(const qparams& x) { Operator::derive(x); })
        rules.derive = [](const node_view&, const qparams& x) { return Operator::derive(x); };
    if constexpr (requires(const node_view& v) { Operator::macs(v); })
        rules.macs = [](const node_view& v) -> std::int64_t { return Operator::macs(v); };
    if constexpr (requires { &Operator::contract; }) rules.contract = &Operator::contract;
    return rules;
}

}  // namespace detail

/// The record of an operator.
template <class Operator, const operator_kind& Kind>
inline constexpr operator_info info_of = detail::make_info<Operator>(Kind);
/// Its forms, where its kind has none of its own.
template <class Operator, class Arch = default_architecture>
inline constexpr operator_forms forms_of_operator{
    {detail::run_of_operator<Operator, Arch, float>(), detail::run_of_operator<Operator, Arch, std::uint8_t>(),
     detail::run_of_operator<Operator, Arch, std::int8_t>(), detail::run_of_operator<Operator, Arch, std::int16_t>()},
    &detail::operator_block<Operator, Arch>::parameter_bytes,
    &detail::operator_block<Operator, Arch>::scratch_bytes,
    &detail::operator_block<Operator, Arch>::pack,
    &detail::operator_block<Operator, Arch>::unpack};
template <class Operator, class Arch = default_architecture>
inline constexpr operator_rules rules_of = detail::make_rules<Operator>(&forms_of_operator<Operator, Arch>);
/// The same of an operator whose kind has forms of its own: nothing is instantiated with its rules.
template <class Operator> inline constexpr operator_rules keyed_rules_of = detail::make_rules<Operator>(nullptr);
/// The one of both for nodes of a kind.
template <const operator_kind& Kind, class Operator> constexpr const operator_rules& rules_for() {
    constexpr bool has_pointers = !forms_of<Kind>::is_keyed || requires(const node_view& v) {
        forms_of<Kind>::keyed(v);
    };
    if constexpr (has_pointers) return rules_of<Operator>;
    else return keyed_rules_of<Operator>;
}

/// `template <> struct forms_of<op::relu> : forms_by_storage<operators::clamp> {};`: of an operator without template arguments,
/// whose forms are then those of the stage's architecture, and of the storages alone that a network has.
template <class Operator> struct forms_by_storage {
    static constexpr bool is_keyed = true;
    static constexpr scalar_type key(const node_view& v) { return computing_storage(v); }
    template <scalar_type Storage, class Arch, class> struct form : detail::operator_block<Operator, Arch> {
        static constexpr run_function run_pointer = detail::run_of_operator<Operator, Arch, storage_of<Storage>>();
    };
};

/// The same where 8-bit codes under policies that round as LiteRT have an operator of their own.
template <class Operator, class Litert> struct forms_by_policy {
    static constexpr bool is_keyed = true;
    static constexpr scalar_type key(const node_view& v) { return computing_storage(v); }
    template <class Policies> static constexpr bool is_litert = requires {
        requires Policies::requantization::rounds_as_litert;
    };
    template <scalar_type Storage, class Policies>
    using chosen = std::conditional_t<is_litert<Policies> && size_of(Storage) == 1, Litert, Operator>;
    template <scalar_type Storage, class Arch, class Policies>
    struct form : forms_by_storage<chosen<Storage, Policies>>::template form<Storage, Arch, Policies> {};
};

/// Appends an operator over nodes that are there already; for free-form graphs, and for the layers below. Returns its node.
template <const operator_kind& Kind, class Operator>
constexpr int append_operator(builder& b, std::span<const int> xs, const char* name = "") {
    shape shapes[max_inputs];
    if (xs.size() > max_inputs) {
        b.fail(rule::too_many_inputs, b.nodes[xs[0]].out.extents);
        return xs[0];
    }
    for (std::size_t k = 0; k != xs.size(); ++k) shapes[k] = b.nodes[xs[k]].out.extents;
    const std::span<const shape> in(static_cast<const shape*>(shapes), xs.size());
    if (!detail::accepts<Operator>(in)) {
        if constexpr (requires { Operator::expected_shape(in[0]); })
            b.fail(rule::input_shape, in.front(), Operator::expected_shape(in[0]));
        else b.fail(rule::operand_shapes, in.front(), in.back());
    }
    constexpr const operator_info& info = info_of<Operator, Kind>;
    node n = b.unary(info, rules_for<Kind, Operator>(), xs[0], name);
    n.out.extents = detail::output_shape_of<Operator>(in);
    n.input_count = static_cast<std::int8_t>(xs.size());
    for (std::size_t k = 0; k != xs.size(); ++k) n.inputs[k] = static_cast<short>(xs[k]);
    n.weights.count = detail::parameters_over<Operator>({b.nodes, n}).size();
    n.flags.keep_float = !info.has_codes;
    // Values of a flattened image may be read where each is done the same to, and must then have one order.
    const bool keeps_order = info.elementwise && n.weights.count <= 1;
    for (const int x : xs) {
        const value_type& value = b.nodes[x].out;
        const bool another_order = value.flattened != b.nodes[xs[0]].out.flattened;
        if (value.is_flattened_image() && (!keeps_order || another_order))
            b.fail(rule::flattened_image, value.flattened);
    }
    n.out.flattened = keeps_order ? b.nodes[xs[0]].out.flattened : shape{0, 0, 0};
    if (n.weights.count != 0 && name[0] == 0 && b.needs_names) b.fail(rule::name_missing, in.front());
    return b.append(n);
}

namespace operators {
/// A number that a layer's static_assert has refused becomes 1, so that the assertion is the only error.
constexpr int at_least_one(int number) { return number < 1 ? 1 : number; }
}  // namespace operators

/// An operator as a layer: over what goes in, or over the outputs of branches that all read what goes in.
template <const operator_kind& Kind, fixed_string Name, class Operator, class... Branches> struct operator_layer {
    static constexpr int nodes = (1 + ... + nodes_of<Branches>);
    static constexpr int lower(builder& b, int x) {
        if constexpr (sizeof...(Branches) == 0) {
            return append_operator<Kind, Operator>(b, {&x, 1}, Name.text);
        } else {
            const int outputs[] = {sequential<Branches>::lower(b, x)...};
            return append_operator<Kind, Operator>(b, outputs, Name.text);
        }
    }
};

namespace op {
inline constexpr operator_kind custom{"custom"};
}

/// A layer of the user's, `zp::custom<"name", Operator>`, or of several inputs, `zp::custom<"name", Operator, Branches...>`.
///
/// Operator has static members: `kind`, its name for people and files; `output_shape(shape x)`, or of a span of shapes;
/// `forward(const zp::operands<float>&)`. Without more it runs in float32, between a dequantize and a quantize. With
/// `forward(const zp::operands<T>&)` for std::uint8_t and std::int8_t it has an int8 form. All other members are optional:
///
/// - `takes_int16`: true where `forward` takes std::int16_t as well, the codes of 16-bit activations. Else it is computed in
///   float32 among those.
/// - `parameters(shape x)` of the first input: how many floats it owns, "name.weight" in a file; or a zp::parameter_list.
/// - `accepts(shape x)`: false is a compile-time error. It may take a std::span<const shape> of all inputs instead. Beside it
///   `expected_shape(shape x)`, what should have come, for that message.
/// - `options`: an array of int, what tells it from others of that kind: a file is loaded by a network of the same options.
/// - `range`: a zp::qparams_source; or `output_min`, `output_max`, its known range, which must hold 0. With `closed_range = true`
///   the largest value has a code of its own, as 0 and 1 of a mask need; else steps are powers of two and it is one beyond the last.
/// - `prepared`, a type, and `prepare(const preparation&)`, which returns one: tables and factors that follow from scales and
///   parameters. Where their size depends on the node, `prepared_bytes(const node_view&)`, and prepare() fills so many.
/// - `problem(const preparation&)`: a sentence where scales are out of what it computes, which becomes an error; or null.
/// - `pack<Arch>(const preparation&, const node_parameters&)`, which returns such a sentence or null, and `unpack<Arch>`, its
///   inverse, with `keeps_codes = true`: int8 nodes keep matrices as codes (parameter_role::matrix), not floats.
/// - `scratch_bytes(const node_view&)`; y_type().storage tells the float form from that of codes.
/// - `states(const node_view&)`: a zp::state_list of what a step leaves to the next; with `stream = zp::stream_rule::stateful`.
/// - `channel_groups(const node_view&)`: how many groups of output channels, and of values of states, several workers may compute apart;
///   `forward` then computes those of `operands::groups` alone, and with a scratch of its own.
/// - `macs(const node_view&)`: its multiply-accumulates, for tables and budgets.
/// - `contract(const node* nodes, int i, node& whole)`: where nodes that end in this one are one operator together: see operator_rules.
/// - `elementwise`, `takes_volumes`, `moves_nothing`, `picks_values`, `inputs`, `stream`, `cut`, `any_length`, `takes` (of fusion),
///   `derive`: see operator_info.
template <fixed_string Name, class Operator, class... Branches>
struct custom : operator_layer<op::custom, Name, Operator, Branches...> {
    // Not of this class: with a failed static_assert in it clang would not take it for a layer, and say so.
    static constexpr detail::member_check otherwise = detail::otherwise_declared<Operator>,
                                          misspelt = detail::misspelt<Operator>;
    static_assert(sizeof(custom_operator<Operator, exact<otherwise.name.size()>(otherwise.name.data()),
                                         exact<misspelt.name.size()>(misspelt.name.data()),
                                         exact<misspelt.meant.size()>(misspelt.meant.data())>) != 0);
};

}  // namespace zp::inline v0
