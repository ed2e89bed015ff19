// SPDX-License-Identifier: BSD-3-Clause
// Gradients of relu, relu6 and clamp: the tape has stopped what lies at their bounds, as it does for bounds that are fused.
#pragma once

#include <algorithm>

#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {
namespace detail {

/// dx = dy.
struct identity_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.dxs[0] != nullptr) std::copy_n(o.dy, o.y_size() * static_cast<std::size_t>(o.samples), o.dxs[0]);
    }
};

}  // namespace detail

template <> struct gradient_of<op::relu> : detail::identity_gradient {};
template <> struct gradient_of<op::relu6> : detail::identity_gradient {};
template <> struct gradient_of<op::clamp> : detail::identity_gradient {};

}  // namespace zp::inline v0
