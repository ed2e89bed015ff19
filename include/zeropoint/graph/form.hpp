// SPDX-License-Identifier: BSD-3-Clause
// Which functions compute a node: chosen by its operator and by what matters of it, its key. Equal keys are one form.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <zeropoint/graph/context.hpp>
#include <zeropoint/graph/graph.hpp>

namespace zp::inline v0 {

/// Of a kind of operators: `key(const node_view&)`, a structural value, and `form<Key, Arch, Policies>`, a type with static
/// members: `run`, and where there are parameters or scratch `parameter_bytes`, `scratch_bytes`, `pack` and `unpack`. A form
/// is a type, not a struct of pointers: what a program does not ask for is not instantiated. A kind without a key brings
/// pointers, operator_rules::forms; so do nodes for which a kind has `keyed(const node_view&)` false.
template <const operator_kind& Kind> struct forms_of { static constexpr bool is_keyed = false; };

/// How a stage computes: how accumulators of int8 nodes become codes, how dynamic nodes quantize, and what weights are where
/// they alone are integers. void: it has no such.
template <class Requantization, class Dynamic, class WeightOnly = void> struct stage_policies {
    using requantization = Requantization;
    using dynamic = Dynamic;
    using weight_only = WeightOnly;
};

template <scalar_type Type>
using storage_of = std::conditional_t<
    Type == scalar_type::uint8, std::uint8_t,
    std::conditional_t<Type == scalar_type::int8, std::int8_t,
                       std::conditional_t<Type == scalar_type::int16, std::int16_t,
                                          std::conditional_t<Type == scalar_type::int32, std::int32_t, float>>>>;

/// Nodes whose kind has no key: the pointers that the node brings. Null where the operator has no form for the storage.
template <const operator_forms* Forms, scalar_type Storage> struct eager_form {
    static constexpr run_function run_pointer = [] {
        if constexpr (Forms == nullptr || Storage == scalar_type::int32) return run_function{};
        else return Forms->run[static_cast<int>(Storage)];
    }();
    static constexpr int parameter_bytes(const node_view& v) {
        return Forms == nullptr ? 0 : Forms->parameter_bytes(v);
    }
    static constexpr int scratch_bytes(const node_view& v) { return Forms == nullptr ? 0 : Forms->scratch_bytes(v); }
    static refusal pack(const preparation& p, const node_parameters& from) { return Forms->pack(p, from); }
    static node_parameters unpack(const preparation& p) { return Forms->unpack(p); }
};

/// Copies a node's arrays of floats to the begin of its block, and back.
template <class = void> void write_floats(const node_view& v, const node_parameters& from, std::byte* block) {
    const parameter_list list = parameters_of(v);
    for (int i = 0; i != list.count; ++i) {
        const auto& values = from.vectors[static_cast<std::size_t>(i)];
        std::memcpy(block + sizeof(float) * static_cast<std::size_t>(list.offset_of(i)), values.data(),
                    sizeof(float) * values.size());
    }
}
template <class = void> void read_floats(const node_view& v, const std::byte* block, node_parameters& to) {
    const parameter_list list = parameters_of(v);
    const std::size_t before = to.vectors.size();
    to.vectors.resize(before + static_cast<std::size_t>(list.count));
    for (int i = 0; i != list.count; ++i) {
        auto& values = to.vectors[before + static_cast<std::size_t>(i)];
        values.resize(static_cast<std::size_t>(list.arrays[i].size()));
        if (!values.empty())
            std::memcpy(values.data(), block + sizeof(float) * static_cast<std::size_t>(list.offset_of(i)),
                        sizeof(float) * values.size());
    }
}
/// What forms whose block is those floats derive from.
struct float_block {
    static constexpr int parameter_bytes(const node_view& v) { return parameters_of(v).bytes(); }
    static refusal pack(const preparation& p, const node_parameters& from) {
        write_floats(p.at, from, p.block);
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        node_parameters to;
        read_floats(p.at, p.block, to);
        return to;
    }
};

namespace detail {
/// Whether a node's form is found by key: a keyed kind may leave nodes for which its `keyed(view)` is false to their pointers.
template <class Forms> constexpr bool is_keyed_node([[maybe_unused]] const node_view& v) {
    if constexpr (requires { Forms::keyed(v); }) return Forms::keyed(v);
    else return Forms::is_keyed;
}
template <class Stage, int I> constexpr auto find_form() {
    constexpr const node& n = Stage::loose.nodes[I];
    constexpr node_view view{Stage::loose.nodes, Stage::loose.nodes[I]};
    using forms = forms_of<*n.op->kind>;
    if constexpr (is_keyed_node<forms>(view))
        return std::type_identity<
            typename forms::template form<forms::key(view), typename Stage::architecture, typename Stage::policies>>();
    else if constexpr (n.rules == nullptr) return std::type_identity<eager_form<nullptr, scalar_type::float32>>();
    else return std::type_identity<eager_form<n.rules->forms, computing_storage(view)>>();
}
template <class Form> constexpr run_function run_of() {
    if constexpr (requires { Form::run_pointer; }) return Form::run_pointer;
    else return &Form::run;
}
template <class Form> constexpr int parameter_bytes_of(const node_view& v) {
    if constexpr (requires { Form::parameter_bytes(v); }) return Form::parameter_bytes(v);
    else return static_cast<void>(v), 0;
}
template <class Form> constexpr int scratch_bytes_of(const node_view& v) {
    if constexpr (requires { Form::scratch_bytes(v); }) return Form::scratch_bytes(v);
    else return static_cast<void>(v), 0;
}
}  // namespace detail

/// The form of node I of a stage, whose nodes stand in `Stage::loose` before they are planned.
template <class Stage, int I> using form_at = typename decltype(detail::find_form<Stage, I>())::type;

using pack_function = refusal (*)(const preparation&, const node_parameters&);
using unpack_function = node_parameters (*)(const preparation&);
template <class Form> constexpr pack_function pack_of() {
    if constexpr (requires { &Form::pack; }) return &Form::pack;
    else return nullptr;
}
template <class Form> constexpr unpack_function unpack_of() {
    if constexpr (requires { &Form::unpack; }) return &Form::unpack;
    else return nullptr;
}

}  // namespace zp::inline v0
