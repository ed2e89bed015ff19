// SPDX-License-Identifier: BSD-3-Clause
// The axes of an image, by name, one of them or a set: what operators along axes take as a template argument.
#pragma once

#include <zeropoint/core/shape.hpp>

namespace zp::inline v0 {

/// In the order in which the library keeps them. Of PyTorch's N x C x H x W they are dimensions 2, 3 and 1, of its
/// N x L x C (a sequence, 1 x L x C here) width and channels are 1 and 2.
enum class axis : int { height, width, channels };

constexpr int extent_along(const shape& s, axis along) {
    return along == axis::height ? s.height : along == axis::width ? s.width : s.channels;
}
constexpr int& extent_along(shape& s, axis along) {
    return along == axis::height ? s.height : along == axis::width ? s.width : s.channels;
}

/// Axes of an activation; `axes::height | axes::channels` are both.
enum class axes : int { height = 1, width = 2, channels = 4, image = height | width, all = image | channels };
constexpr axes operator|(axes a, axes b) { return static_cast<axes>(static_cast<int>(a) | static_cast<int>(b)); }
constexpr bool holds(axes set, axes one) { return (static_cast<int>(set) & static_cast<int>(one)) != 0; }
/// `x` with the extent 1 along these axes.
constexpr shape folded(const shape& x, axes over) {
    return {holds(over, axes::height) ? 1 : x.height, holds(over, axes::width) ? 1 : x.width,
            holds(over, axes::channels) ? 1 : x.channels, holds(over, axes::height) ? 1 : x.depth};
}

}  // namespace zp::inline v0
