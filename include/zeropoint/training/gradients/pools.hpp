// SPDX-License-Identifier: BSD-3-Clause
// Gradients of max_pool2d, avg_pool2d and adaptive_avg_pool2d, and of the same along sequences.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/gradient/pooling_gradient.hpp>
#include <zeropoint/operators/pool2d.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {
namespace detail {

/// gradient(x, dy, dx) of each sample.
template <class Gradient> void of_each_sample(const gradient_operands& o, const Gradient& gradient) noexcept {
    if (o.dxs[0] == nullptr) return;
    for (std::size_t sample = 0; sample != static_cast<std::size_t>(o.samples); ++sample)
        gradient(o.xs[0] + sample * o.x_size(), o.dy + sample * o.y_size(), o.dxs[0] + sample * o.x_size());
}

}  // namespace detail

template <> struct gradient_of<op::max_pool2d> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = geometry_of_window(o.at);
        detail::of_each_sample(
            o, [&](const float* x, const float* dy, float* dx) { kernel::max_pool2d_gradient<Arch>(g, x, dy, dx); });
    }
};
template <> struct gradient_of<op::avg_pool2d> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = geometry_of_window(o.at);
        const bool counts_padding = options_of<window2d>(o.at.n).count_include_pad != 0;
        detail::of_each_sample(o, [&](const float*, const float* dy, float* dx) {
            kernel::avg_pool2d_gradient<Arch>(g, counts_padding, dy, dx);
        });
    }
};
template <> struct gradient_of<op::adaptive_avg_pool2d> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        detail::of_each_sample(o, [&](const float*, const float* dy, float* dx) {
            kernel::adaptive_avg_pool2d_gradient<Arch>(o.at.x_shape(), o.at.y_shape(), dy, dx);
        });
    }
};

}  // namespace zp::inline v0
