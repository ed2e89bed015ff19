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

namespace zp {
inline namespace v0 {
namespace detail {

/// Of the family of conv2d: weights, then biases. A linear layer is a convolution of one pixel, or of one row of them.
struct conv2d_gradient {
    static constexpr bool begins = true;

    template <class Arch> static void forward(const gradient_operands& o, float* y) noexcept {
        const auto g = o.at.n.op->geometry(o.at);
        kernel::conv2d_batch<Arch>(g, o.samples, x_of(o), o.parameter(0), o.parameter(1), o.at.n.fused.lowest,
                                   o.at.n.fused.highest, {y, y_stride(o)}, o.scratch);
    }
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = o.at.n.op->geometry(o.at);
        const kernel::const_float_batch dy{o.dy, y_stride(o)};
        if (o.d_block != nullptr) {
            if (o.begins) {
                const std::ptrdiff_t weights = std::ptrdiff_t{g.out.channels} * g.depth(),
                                     all = o.at.n.at.parameter_bytes / std::ptrdiff_t{sizeof(float)};
                std::fill(o.d_block + weights, o.d_block + all, 0.0f);  // the bias lies behind
            }
            kernel::conv2d_weight_gradient<Arch>(g, o.samples, x_of(o), dy, o.d_parameter(0), o.scratch, o.begins);
            if (o.at.n.weights.has_bias)
                kernel::add_channel_sums<Arch>(o.samples, dy, g.out.height * g.out.width, g.out.channels,
                                               o.d_parameter(1));
        }
        if (o.dxs[0] != nullptr)
            kernel::conv2d_input_gradient<Arch>(g, o.samples, dy, o.parameter(0),
                                                {o.dxs[0], static_cast<std::ptrdiff_t>(o.x_size())}, o.scratch);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        const auto g = v.n.op->geometry(v);
        return sizeof(float) *
               std::max({kernel::conv2d_batch_scratch<Arch>(g), kernel::conv2d_input_gradient_scratch<Arch>(g),
                         kernel::conv2d_weight_gradient_scratch<Arch>(g)});
    }

private:
    static kernel::const_float_batch x_of(const gradient_operands& o) {
        return {o.xs[0], static_cast<std::ptrdiff_t>(o.x_size())};
    }
    static std::ptrdiff_t y_stride(const gradient_operands& o) { return static_cast<std::ptrdiff_t>(o.y_size()); }
};

}  // namespace detail

template <> struct gradient_of<op::conv2d> : detail::conv2d_gradient {};
template <> struct gradient_of<op::linear> : detail::conv2d_gradient {};

}  // namespace v0
}  // namespace zp
