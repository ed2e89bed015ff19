// The axes of an image, by name: what operators along an axis take as a template argument.
#pragma once

#include <zeropoint/core/shape.hpp>

namespace zp {
inline namespace v0 {

/// In the order in which the library keeps them. Of PyTorch's N x C x H x W they are dimensions 2, 3 and 1, of its
/// N x L x C (a sequence, 1 x L x C here) width and channels are 1 and 2.
enum class axis : int { height, width, channels };

constexpr int extent_along(const shape& s, axis along) {
    return along == axis::height ? s.height : along == axis::width ? s.width : s.channels;
}
constexpr int& extent_along(shape& s, axis along) {
    return along == axis::height ? s.height : along == axis::width ? s.width : s.channels;
}

}  // namespace v0
}  // namespace zp
