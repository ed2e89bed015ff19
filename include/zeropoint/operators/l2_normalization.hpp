// SPDX-License-Identifier: BSD-3-Clause
// Vectors of length 1: each pixel's channels divided by the root of the sum of their squares.
#pragma once

#include <cstddef>
#include <limits>

#include <zeropoint/kernel/normalize/l2_normalize.hpp>
#include <zeropoint/graph/define.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind l2_normalization{"l2_normalization"};
}
namespace operators {

struct l2_normalization {
    static constexpr const char* kind = "l2_normalization";
    static constexpr float output_min = -1, output_max = 1;
    static constexpr stream_rule stream = stream_rule::pointwise;

    static constexpr shape output_shape(shape x) { return x; }
    static const char* problem(const preparation& p) {
        return 1 / double{p.y_qparams().scale} < double{std::numeric_limits<float>::max()}
                   ? nullptr
                   : "its output's scale is too small to divide by";
    }
    template <class Arch> static void forward(const operands<float>& o) noexcept {
        kernel::l2_normalize<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                                   static_cast<std::size_t>(o.x_shape().channels), o.y());
    }
    template <class Arch, class T> static void forward(const operands<T>& o) noexcept {
        kernel::l2_normalize<Arch>(o.x(), static_cast<std::size_t>(o.x_shape().pixels()),
                                   static_cast<std::size_t>(o.x_shape().channels), o.x_qparams().zero_point,
                                   static_cast<float>(1 / double{o.y_qparams().scale}), o.y_codes(), o.y());
    }
};

}  // namespace operators

/// x / max(sqrt(sum of x^2), 1e-12) over the channels of each pixel: PyTorch's normalize(x, dim=1), TFLite's
/// L2_NORMALIZATION. In int8 its output has the scale 1 / 128 around zero, and is within 0.5 + 2^-15 codes of the exact
/// result.
struct l2_normalization : operator_layer<op::l2_normalization, "", operators::l2_normalization> {};

}  // namespace zp::inline v0
