// SPDX-License-Identifier: BSD-3-Clause
// The extents of one activation.
#pragma once

#include <limits>
#include <string>

namespace zp::inline v0 {

/// Height x width x channels of one image, channels innermost (NHWC without N). A vector is 1 x 1 x channels. A volume has
/// `depth` such planes one behind the other (NDHWC).
struct shape {
    int height = 1, width = 1, channels = 1, depth = 1;  // at least 1 each

    /// All values.
    constexpr int size() const { return pixels() * channels; }
    /// Of all planes.
    constexpr int pixels() const { return depth * height * width; }
    /// Whether it has more values than an int counts.
    constexpr bool is_too_large() const {
        constexpr long long most = std::numeric_limits<int>::max();
        long long values = 1;
        for (const int extent : {height, width, channels, depth})
            if (values <= most) values *= extent;
        return values > most;
    }
    /// Whether there is more than one plane.
    constexpr bool is_volume() const { return depth != 1; }
    /// The planes one below the other: to what does not tell rows apart, the same values.
    constexpr shape as_image() const { return {depth * height, width, channels}; }
    constexpr bool operator==(const shape&) const = default;
};

/// "8x8x16": height, width, channels; of a volume "4x8x8x16", depth first.
[[gnu::cold]] inline std::string to_string(const shape& s) {
    return (s.is_volume() ? std::to_string(s.depth) + "x" : std::string()) + std::to_string(s.height) + "x" +
           std::to_string(s.width) + "x" + std::to_string(s.channels);
}

}  // namespace zp::inline v0
