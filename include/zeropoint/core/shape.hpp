// The extents of one activation.
#pragma once

#include <string>

namespace zp {
inline namespace v0 {

/// Height x width x channels of one image, channels innermost (NHWC without N). A vector is 1 x 1 x channels.
struct shape {
    int height = 1, width = 1, channels = 1;

    constexpr int size() const { return height * width * channels; }
    constexpr int pixels() const { return height * width; }
    constexpr bool operator==(const shape&) const = default;
};

/// "8x8x16": height, width, channels.
inline std::string to_string(const shape& s) {
    return std::to_string(s.height) + "x" + std::to_string(s.width) + "x" + std::to_string(s.channels);
}

}  // namespace v0
}  // namespace zp
