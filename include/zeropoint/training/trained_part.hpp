// SPDX-License-Identifier: BSD-3-Clause
// The arrays of a network that are trained, by name and place.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/training/optimizers.hpp>
#include <zeropoint/training/stage_gradients.hpp>

namespace zp::inline v0 {

/// An array that is trained: a part of the values, and of the gradient, of all.
struct trained_part {
    std::string name;
    std::size_t offset = 0, count = 0;
    parameter_group group = parameter_group::weights;
    float floor = -infinity;  // of scales
};

namespace detail {

/// The place of an array of a node among the parameters, in floats.
inline std::size_t place_of(const node& n, const parameter_list& list, int array) {
    return static_cast<std::size_t>(n.at.parameter_offset) / sizeof(float) +
           static_cast<std::size_t>(list.offset_of(array));
}

/// Appends the running variances of a float stage's batch norms, in the places that they have there: of at least 0, which is their floor.
/// A part has the name of its norm.
template <class Stage> void append_variances(std::vector<trained_part>& parts) {
    for (int i = 0; i != Stage::size; ++i) {
        const parameter_list list = parameters_of(Stage::table.view(i));
        for (int k = 0; k != list.count; ++k)
            if (list.arrays[k].is_variance)
                parts.push_back({display_name(network<Stage>::rows(), i), place_of(Stage::table.nodes[i], list, k),
                                 static_cast<std::size_t>(list.arrays[k].size()), parameter_group::vectors, 0});
    }
}

/// Appends the parameters of a float stage's nodes that are trained, in the places that they have there. A layer without a bias keeps its
/// zeros, and one that nothing goes back to what it is.
template <class Stage> void append_parts_of_parameters(std::vector<trained_part>& parts) {
    constexpr const auto& rules = stage_gradients<Stage>::rules;
    for (int i = 0; i != Stage::size; ++i) {
        const node& n = Stage::table.nodes[i];
        const parameter_list list = parameters_of(Stage::table.view(i));
        for (int k = 0; k != list.count; ++k) {
            if ((rules[static_cast<std::size_t>(i)].trained >> k & 1) == 0) continue;
            const parameter_array& array = list.arrays[k];
            if ((array.role == parameter_role::bias && !n.weights.has_bias) || !array.in_state_dict) continue;
            const bool is_weight = array.role != parameter_role::vector && array.role != parameter_role::bias;
            const std::string own = array.name[0] == 0 ? "" : std::string(".") + array.name;
            parts.push_back({display_name(network<Stage>::rows(), i) + own, place_of(n, list, k),
                             static_cast<std::size_t>(array.size()),
                             is_weight ? parameter_group::weights : parameter_group::vectors});
        }
    }
}

}  // namespace detail
}  // namespace zp::inline v0
