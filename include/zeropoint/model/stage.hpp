// SPDX-License-Identifier: BSD-3-Clause
// What every stage of a model has: its nodes with places, the functions that run and fill them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <zeropoint/graph/cut.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/pass/plan.hpp>

namespace zp::inline v0 {
namespace detail {

/// f<Node>() of every node of a stage: one array.
template <class Value, int Size, class F>
constexpr std::array<Value, static_cast<std::size_t>(Size)> for_each_node(F f) {
    return [&]<int... Node>(std::integer_sequence<int, Node...>) {
        return std::array<Value, sizeof...(Node)>{f.template operator()<Node>()...};
    }
    (std::make_integer_sequence<int, Size>{});
}
struct form_bytes {
    int parameters, scratch;
};
}  // namespace detail

/// A stage of a model. `Nodes` has `loose`, what the last of its passes gives; `architecture`; and `policies`, a
/// stage_policies. Where `loose` breaks a rule, there are no forms: the verdict says why. Members have types that are written
/// out, so that a program instantiates those alone that it uses.
template <class Nodes> struct stage : Nodes {
    using Nodes::loose;
    static constexpr int size = Nodes::loose.size;
    static constexpr bool is_valid = Nodes::loose.error.broken == rule::none;

    /// The nodes as a program stores them: with places, and without the rules of their operators.
    static constexpr graph<size> table = [] {
        graph<size> g = Nodes::loose;
        if constexpr (is_valid) {
            constexpr auto bytes =
                detail::for_each_node<detail::form_bytes, size>([]<int Node>() -> detail::form_bytes {
                    constexpr node_view v{Nodes::loose.nodes, Nodes::loose.nodes[Node]};
                    using form = form_at<Nodes, Node>;
                    if constexpr (requires { Nodes::template scratch_bytes<form>(v); })
                        return {detail::parameter_bytes_of<form>(v), Nodes::template scratch_bytes<form>(v)};
                    else return {detail::parameter_bytes_of<form>(v), detail::scratch_bytes_of<form>(v)};
                });
            for (int i = 0; i != g.size; ++i) {
                g.nodes[i].at.parameter_bytes = bytes[static_cast<std::size_t>(i)].parameters;
                g.nodes[i].at.scratch_bytes = bytes[static_cast<std::size_t>(i)].scratch;
                g.nodes[i].at.state_bytes = states_of(g.view(i)).bytes();
            }
            place_parameters(g);
            place_activations(g);
            if constexpr (requires { Nodes::place(g); }) Nodes::place(g);
        }
        for (int i = 0; i != g.size; ++i) g.nodes[i].rules = nullptr;
        return g;
    }();
    template <class Function> using function_array = std::array<Function, static_cast<std::size_t>(size)>;
    /// What runs each node.
    static constexpr function_array<run_function> steps =
        detail::for_each_node<run_function, size>([]<int Node>() -> run_function {
            if constexpr (is_valid) return detail::run_of<form_at<Nodes, Node>>();
            else return nullptr;
        });
    /// How each node is cut for executors of several workers.
    static constexpr function_array<node_cut> cuts = detail::for_each_node<node_cut, size>([]<int Node>() -> node_cut {
        if constexpr (is_valid) {
            constexpr node_cut cut = cut_of<form_at<Nodes, Node>>({Nodes::loose.nodes, Nodes::loose.nodes[Node]});
            return cut;
        } else {
            return {};
        }
    });
    /// Scratch of a part, beside that of the node itself.
    static constexpr int part_bytes = [] {
        int most = 0;
        for (std::size_t i = 0; i != cuts.size(); ++i) {
            if (cuts[i].is_cut()) most = std::max(most, table.nodes[i].at.scratch_bytes);
            if (cuts[i].takes_rows()) most = std::max(most, cuts[i].scratch_bytes);
        }
        return static_cast<int>(align_up(static_cast<std::size_t>(most)));
    }();
    /// Whether some rows of a node need more scratch than the node has for all of them.
    static constexpr bool parts_need_more = [] {
        for (std::size_t i = 0; i != cuts.size(); ++i)
            if (cuts[i].takes_rows() && cuts[i].scratch_bytes > table.nodes[i].at.scratch_bytes) return true;
        return false;
    }();
    /// What fills a node's block from its parameters.
    static constexpr function_array<pack_function> packs =
        detail::for_each_node<pack_function, size>([]<int Node>() -> pack_function {
            if constexpr (is_valid) return pack_of<form_at<Nodes, Node>>();
            else return nullptr;
        });
    /// And the inverse.
    static constexpr function_array<unpack_function> unpacks =
        detail::for_each_node<unpack_function, size>([]<int Node>() -> unpack_function {
            if constexpr (is_valid) return unpack_of<form_at<Nodes, Node>>();
            else return nullptr;
        });
    /// Runs all nodes, each by a call that the compiler sees through and may inline: for stages that have `runs_inlined` true.
    static void run_inlined(const context& c) noexcept {
        [&]<int... Node>(std::integer_sequence<int, Node...>) __attribute__((always_inline)) {
            (steps[Node](table.nodes[Node], c), ...);
        }
        (std::make_integer_sequence<int, size>{});
    }
};

}  // namespace zp::inline v0
