// SPDX-License-Identifier: BSD-3-Clause
// The gradients of a float stage's nodes, and what a user reads where one is missing.
#pragma once

#include <cstddef>
#include <string_view>

#include <zeropoint/model/stage.hpp>
#include <zeropoint/model/verdict.hpp>
#include <zeropoint/training/gradients.hpp>

namespace zp::inline v0 {

/// What the user reads where something is trained in front of an operator that has no gradient.
template <fixed_string Layer, class Net> struct layer_without_gradient {
    static_assert(sizeof(Net) == 0,
                  "train: this layer has no gradient, and something in front of it is trained (see "
                  "layer_without_gradient<Layer, Model>): give its kind one, template <> struct "
                  "zp::gradient_of<kind>, or train what stands behind it alone");
};

/// The gradients of a float stage's nodes.
template <class Stage> struct stage_gradients {
    static constexpr auto rules = detail::for_each_node<gradient_rule, Stage::size>(
        []<int Node>() { return gradient_rule_of<*Stage::loose.nodes[Node].op, typename Stage::architecture>; });
    /// The first node without a gradient that is asked for one; -1: none.
    static constexpr int missing = [] {
        bool asks[static_cast<std::size_t>(Stage::size) + 1]{};
        for (int i = 0; i != Stage::loose.size; ++i) {
            const node& n = Stage::loose.nodes[i];
            const gradient_rule& rule = rules[static_cast<std::size_t>(i)];
            bool in_front = false;
            for (int k = 0; k != n.input_count; ++k) in_front = in_front || asks[n.inputs[k]];
            if (n.op->inputs == input_rule::extents) in_front = false;
            if (in_front && !rule.exists() && !n.op->is_output) return i;
            asks[i] = in_front || (rule.trained != 0 && parameters_of(Stage::loose.view(i)).count != 0);
        }
        return -1;
    }();
    static constexpr auto check() {
        if constexpr (missing >= 0) {
            constexpr const node& n = Stage::loose.nodes[missing];
            constexpr std::string_view name = n.name[0] != 0 ? n.name : n.op->name;
            return sizeof(layer_without_gradient<exact<name.size()>(name.data()), typename Stage::net>);
        } else {
            return std::size_t{1};
        }
    }
    static_assert(check() != 0);
};

}  // namespace zp::inline v0
