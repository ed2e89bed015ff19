// SPDX-License-Identifier: BSD-3-Clause
// A constant of the extents of what goes in.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind full_like{"full_like"};
}
namespace operators {

/// In codes exact: the scale is the constant's magnitude, and its code 1 above the zero point or 1 below.
template <class Constant> struct full_like {
    static constexpr const char* kind = "full_like";
    static constexpr auto value =
        static_cast<float>(static_cast<double>(Constant::num) / static_cast<double>(Constant::den));
    static constexpr int options[] = {static_cast<int>(Constant::num), static_cast<int>(Constant::den)};
    static constexpr bool elementwise = true;
    static constexpr qparams_source range = qparams_source::derived;

    static constexpr qparams derive(const qparams&) {
        return {value == 0 ? 1.0f : value < 0 ? -value : value, value < 0 ? 1 : 0};
    }
    static constexpr shape output_shape(shape x) { return x; }
    static void forward(const operands<float>& o) noexcept {
        std::fill_n(o.y(), static_cast<std::size_t>(o.y_shape().size()), value);
    }
    template <class T> static void forward(const operands<T>& o) noexcept {
        std::fill_n(o.y(), static_cast<std::size_t>(o.y_shape().size()), T{value > 0});
    }
};

}  // namespace operators

/// Constant, a std::ratio, at every place of what goes in: PyTorch's full_like, TFLite's FILL of extents that are constants, as
/// all are here. In int8 it is exact.
template <class Constant> struct full_like : operator_layer<op::full_like, "", operators::full_like<Constant>> {};

}  // namespace zp::inline v0
