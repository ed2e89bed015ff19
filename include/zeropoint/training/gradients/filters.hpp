// SPDX-License-Identifier: BSD-3-Clause
// Gradients of convolutions and linear layers.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {
namespace detail {

/// A node's samples as batches.
inline kernel::const_float_batch batch_of_x(const gradient_operands& o) {
    return {o.xs[0], static_cast<std::ptrdiff_t>(o.x_size())};
}
inline kernel::float_batch batch_of_dx(const gradient_operands& o) {
    return {o.dxs[0], static_cast<std::ptrdiff_t>(o.x_size())};
}
inline kernel::const_float_batch batch_of_dy(const gradient_operands& o) {
    return {o.dy, static_cast<std::ptrdiff_t>(o.y_size())};
}
template <class Arch> void add_bias_gradient(const gradient_operands& o) noexcept {
    if (o.at.n.weights.has_bias)
        kernel::add_channel_sums<Arch>(o.samples, batch_of_dy(o), o.at.y_shape().pixels(), o.at.y_shape().channels,
                                       o.d_parameter(1));
}

/// Of the family of conv2d: weights, then biases. A linear layer is a convolution of one pixel, or of one row of them.
struct conv2d_gradient {
    static constexpr bool begins = true;

    template <class Arch> static void forward(const gradient_operands& o, float* y) noexcept {
        const auto g = o.at.n.op->geometry(o.at);
        kernel::conv2d_batch<Arch>(g, o.samples, batch_of_x(o), o.parameter(0), o.parameter(1), o.at.n.fused.lowest,
                                   o.at.n.fused.highest, {y, static_cast<std::ptrdiff_t>(o.y_size())}, o.scratch);
    }
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = o.at.n.op->geometry(o.at);
        if (o.d_block != nullptr) {
            if (o.begins) {
                const std::ptrdiff_t weights = std::ptrdiff_t{g.out.channels} * g.depth(),
                                     all = o.at.n.at.parameter_bytes / std::ptrdiff_t{sizeof(float)};
                std::fill(o.d_block + weights, o.d_block + all, 0.0f);  // the bias lies behind
            }
            kernel::conv2d_weight_gradient<Arch>(g, o.samples, batch_of_x(o), batch_of_dy(o), o.d_parameter(0),
                                                 o.scratch, o.begins);
            add_bias_gradient<Arch>(o);
        }
        if (o.dxs[0] != nullptr)
            kernel::conv2d_input_gradient<Arch>(g, o.samples, batch_of_dy(o), o.parameter(0), batch_of_dx(o),
                                                o.scratch);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        const auto g = v.n.op->geometry(v);
        return sizeof(float) *
               std::max({kernel::conv2d_batch_scratch<Arch>(g), kernel::conv2d_input_gradient_scratch<Arch>(g),
                         kernel::conv2d_weight_gradient_scratch<Arch>(g)});
    }
};

}  // namespace detail

template <> struct gradient_of<op::conv2d> : detail::conv2d_gradient {};
template <> struct gradient_of<op::linear> : detail::conv2d_gradient {};

}  // namespace zp::inline v0
