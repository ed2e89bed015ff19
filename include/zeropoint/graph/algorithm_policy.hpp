// SPDX-License-Identifier: BSD-3-Clause
// How a user says which algorithm computes a convolution or linear layer.
#pragma once

#include <cstdint>

#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp::inline v0 {

using kernel::conv2d_algorithm;

/// What the algorithm of a convolution or linear layer is chosen for.
enum class algorithm_goal : std::uint8_t {
    balanced,  ///< little time, where bytes of packed weights cost what reading them takes: zp::balanced, the default
    fastest,   ///< little time, whatever the weights take
    smallest,  ///< few bytes of packed weights, at nearly any price in time
    named      ///< the one that the policy names
};

/// How the algorithm of a layer is chosen: zp::balanced, zp::fastest, zp::smallest, or one by name, such as
/// zp::conv2d_algorithm::implicit_gemm. All give the same integers and the same files.
struct algorithm_policy {
    algorithm_goal goal = algorithm_goal::balanced;            // what counts where no algorithm is named
    conv2d_algorithm algorithm = conv2d_algorithm::automatic;  // where goal is named

    /// Balanced.
    constexpr algorithm_policy() = default;
    constexpr algorithm_policy(algorithm_goal why) : goal(why) {}  // NOLINT(google-explicit-constructor)
    constexpr algorithm_policy(conv2d_algorithm name)              // NOLINT(google-explicit-constructor)
        : goal(name == conv2d_algorithm::automatic ? algorithm_goal::balanced : algorithm_goal::named),
          algorithm(name) {}
    constexpr bool operator==(const algorithm_policy&) const = default;
};
/// Little time, where bytes of packed weights cost what reading them takes: the default.
inline constexpr algorithm_policy balanced{algorithm_goal::balanced};
/// Little time, whatever the weights take.
inline constexpr algorithm_policy fastest{algorithm_goal::fastest};
/// Few bytes of packed weights, at nearly any price in time.
inline constexpr algorithm_policy smallest{algorithm_goal::smallest};

constexpr const char* name_of(algorithm_goal goal) {
    constexpr const char* names[] = {"balanced", "fastest", "smallest", "named"};
    return names[static_cast<int>(goal)];
}

}  // namespace zp::inline v0
