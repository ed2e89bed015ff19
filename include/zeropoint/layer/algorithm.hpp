// How a user says which algorithm computes a convolution or linear layer, and how the choice is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/layer/row_kernels.hpp>

namespace zp {
inline namespace v0 {

/// What a byte of packed weights is worth in time. For zp::balanced that is what reading it once a call takes from memory,
/// where the weights of a network larger than the caches are. zp::smallest pays far more, but not any price.
constexpr double nanoseconds_per_packed_byte(algorithm_goal goal) {
    if (goal == algorithm_goal::smallest) return 100;
    return goal == algorithm_goal::balanced ? kernel::nanoseconds_per_byte_from_memory : 0;
}

/// By what the algorithms of a row are compared: time, and what its bytes are worth. Scratch counts as packed weights do, or
/// zp::balanced would make the arena of a small network many times as large for a microsecond.
template <class Arch> constexpr double weight_of(const node& row, conv2d_algorithm algorithm) {
    const kernel::conv2d_cost cost = cost_of<Arch>(row, algorithm);
    const std::size_t bytes = cost.packed_bytes + scratch_bytes_of<Arch>(row, algorithm);
    return cost.nanoseconds + nanoseconds_per_packed_byte(row.policy.goal) * static_cast<double>(bytes);
}

/// The algorithm of a weighted row under its policy: among those that can compute its geometry the one of least
/// weight. `automatic` where the policy names one that cannot. Plain loops are taken by name only: for a few bytes less they
/// cost ten times the time and more.
template <class Arch> constexpr conv2d_algorithm choose_algorithm(const node& row) {
    if (row.policy.goal == algorithm_goal::named)
        return supports(row, row.policy.algorithm) ? row.policy.algorithm : conv2d_algorithm::automatic;
    conv2d_algorithm best = conv2d_algorithm::automatic;
    double least = 0;
    for (const conv2d_algorithm algorithm : kernel::conv2d_algorithms) {
        if (algorithm == conv2d_algorithm::direct || !supports(row, algorithm)) continue;
        const double weight = weight_of<Arch>(row, algorithm);
        if (best != conv2d_algorithm::automatic && weight >= least) continue;
        best = algorithm;
        least = weight;
    }
    return best;
}

}  // namespace v0
}  // namespace zp
