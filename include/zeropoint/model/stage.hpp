// What every stage of a model has: its nodes with places, the functions that run and fill them.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <zeropoint/graph/form.hpp>
#include <zeropoint/pass/plan.hpp>

namespace zp {
inline namespace v0 {
namespace detail {

/// f<Node>() of every node of a stage: one array.
template <class Value, int Size, class F> constexpr std::array<Value, static_cast<std::size_t>(Size)> for_each_node(F f) {
    return [&]<int... Node>(std::integer_sequence<int, Node...>) {
        return std::array<Value, sizeof...(Node)>{f.template operator()<Node>()...};
    }
    (std::make_integer_sequence<int, Size>{});
}
struct form_bytes {
    int parameters, scratch;
};
/// The places of one call, and nothing else: what a stage may do behind them is its own `place(graph&)`.
template <class Self, class Graph> constexpr void place_all(Graph& g) {
    place_parameters(g);
    place_activations(g);
    if constexpr (requires { Self::place(g); }) Self::place(g);
}

}  // namespace detail

/// Base of a stage. `Self` has `loose`, its nodes without places, as the last of its passes gives them; `architecture`; and
/// `policies`, a stage_policies. Where `loose` breaks a rule, there are no forms: the verdict says why.
template <class Self> struct stage_base {
    /// The nodes as a program stores them: with places, and without the rules of their operators.
    static constexpr auto table = [] {
        auto g = Self::loose;
        if constexpr (Self::loose.error.broken == rule::none) {
            constexpr auto bytes =
                detail::for_each_node<detail::form_bytes, Self::loose.size>([]<int Node>() -> detail::form_bytes {
                    constexpr node_view v{Self::loose.nodes, Self::loose.nodes[Node]};
                    return {detail::parameter_bytes_of<form_at<Self, Node>>(v),
                            detail::scratch_bytes_of<form_at<Self, Node>>(v)};
                });
            for (int i = 0; i != g.size; ++i) {
                g.nodes[i].at.parameter_bytes = bytes[static_cast<std::size_t>(i)].parameters;
                g.nodes[i].at.scratch_bytes = bytes[static_cast<std::size_t>(i)].scratch;
            }
            detail::place_all<Self>(g);
        }
        for (int i = 0; i != g.size; ++i) g.nodes[i].rules = nullptr;
        return g;
    }();
    /// What runs each node.
    static constexpr auto steps = detail::for_each_node<run_function, Self::loose.size>([]<int Node>() -> run_function {
        if constexpr (Self::loose.error.broken == rule::none) return detail::run_of<form_at<Self, Node>>();
        else return nullptr;
    });
    /// What fills a node's block from its parameters.
    static constexpr auto packs = detail::for_each_node<pack_function, Self::loose.size>([]<int Node>() -> pack_function {
        if constexpr (Self::loose.error.broken == rule::none) return pack_of<form_at<Self, Node>>();
        else return nullptr;
    });
    /// And the inverse.
    static constexpr auto unpacks =
        detail::for_each_node<unpack_function, Self::loose.size>([]<int Node>() -> unpack_function {
            if constexpr (Self::loose.error.broken == rule::none) return unpack_of<form_at<Self, Node>>();
            else return nullptr;
        });
};

}  // namespace v0
}  // namespace zp
