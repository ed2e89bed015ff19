// SPDX-License-Identifier: BSD-3-Clause
// How the algorithm of a node with filters is chosen.
#pragma once

#include <cstddef>

#include <zeropoint/graph/graph.hpp>
#include <zeropoint/operators/matrix_int8.hpp>

namespace zp::inline v0 {
namespace operators {

/// What a byte of packed weights is worth in time. For zp::balanced that is what reading it once a call takes from memory,
/// where the weights of a network larger than the caches are. zp::smallest pays far more, but not any price.
constexpr double nanoseconds_per_packed_byte(algorithm_goal goal) {
    if (goal == algorithm_goal::smallest) return 100;
    return goal == algorithm_goal::balanced ? kernel::nanoseconds_per_byte_from_memory : 0;
}

/// By what the algorithms of a node are compared: time, and what its bytes are worth. Scratch counts as packed weights do, or
/// zp::balanced would make the arena of a small network many times as large for a microsecond.
template <class Arch> constexpr double weight_of(const node_view& v, conv2d_algorithm algorithm) {
    const kernel::conv2d_cost cost = cost_of<Arch>(v, algorithm);
    const std::size_t bytes = cost.packed_bytes + scratch_bytes_by<Arch>(v, algorithm);
    return cost.nanoseconds + nanoseconds_per_packed_byte(v.n.by.policy.goal) * static_cast<double>(bytes);
}

/// The algorithm of a node under its policy: among those that can compute its geometry the one of least weight. `automatic`
/// where the policy names one that cannot. Plain loops are taken by name, and where kernel::prefers_direct says so: for a few
/// bytes less they cost vectors ten times the time and more.
template <class Arch> constexpr conv2d_algorithm choose_algorithm(const node_view& v) {
    const algorithm_policy& policy = v.n.by.policy;
    if (policy.goal == algorithm_goal::named)
        return supports(v, policy.algorithm) ? policy.algorithm : conv2d_algorithm::automatic;
    if (v.n.op->filters == filter_kernels::conv2d && v.x_type().storage != scalar_type::int16 &&
        kernel::prefers_direct<Arch>(v.n.op->geometry(v)))
        return conv2d_algorithm::direct;
    conv2d_algorithm best = conv2d_algorithm::automatic;
    double least = 0;
    for (const conv2d_algorithm algorithm : kernel::conv2d_algorithms) {
        if (algorithm == conv2d_algorithm::direct || !supports(v, algorithm)) continue;
        const double weight = weight_of<Arch>(v, algorithm);
        if (best != conv2d_algorithm::automatic && weight >= least) continue;
        best = algorithm;
        least = weight;
    }
    return best;
}

/// Whether a float node is a product of one row, which is faster over packed weights.
constexpr bool is_float_row(const node_view& v) {
    const node& n = v.n;
    if (n.op->filters != filter_kernels::conv2d || !n.is_float() || n.is_dynamic() || n.is_weight_only()) return false;
    return kernel::linear_extents_of(n.op->geometry(v)).rows == 1;
}

}  // namespace operators

/// Such nodes get packed weights: of stages whose blocks nobody else reads.
template <int N> constexpr void pack_float_rows(graph<N>& g) {
    for (int i = 0; i != g.size; ++i) g.nodes[i].weights.packed_row = operators::is_float_row(g.view(i));
}

/// The algorithm of every node with filters over codes, under the policy that `policy_of(node)` gives.
template <class Arch, int N, class PolicyOf> constexpr graph<N> choose_algorithms(graph<N> g, PolicyOf policy_of) {
    for (int i = 0; i != g.size; ++i) {
        node& n = g.nodes[i];
        if (!n.op->multiplies || !n.out.is_codes()) continue;
        n.by.policy = policy_of(n);
        n.by.algorithm = operators::choose_algorithm<Arch>(g.view(i));
        n.weights.packed_int16 = takes_int16_panels<Arch>(g.view(i));
        if (n.by.algorithm == conv2d_algorithm::automatic && g.error.broken == rule::none)
            g.error = {rule::algorithm_does_not_fit, i, g.view(i).x_shape(), n.out.extents};
    }
    return g;
}

}  // namespace zp::inline v0
