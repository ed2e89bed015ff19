// SPDX-License-Identifier: BSD-3-Clause
// Gradients of transposed convolutions.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>
#include <zeropoint/kernel/gradient/conv_transpose2d_gradient.hpp>
#include <zeropoint/operators/conv_transpose2d.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp {
inline namespace v0 {

template <> struct gradient_of<op::conv_transpose2d> {
    template <class Arch> static void forward(const gradient_operands& o, float* y) noexcept {
        kernel::conv_transpose2d_batch<Arch>(transposed_window(o.at), o.samples, {o.xs[0], stride(o.x_size())},
                                             o.parameter(0), o.parameter(1), o.at.n.fused.lowest, o.at.n.fused.highest,
                                             {y, stride(o.y_size())}, o.scratch);
    }
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = transposed_window(o.at);
        const kernel::const_float_batch x{o.xs[0], stride(o.x_size())}, dy{o.dy, stride(o.y_size())};
        if (o.d_block != nullptr) {
            kernel::conv_transpose2d_weight_gradient<Arch>(g, o.samples, x, dy, o.d_parameter(0), o.scratch);
            if (o.at.n.weights.has_bias)
                kernel::add_channel_sums<Arch>(o.samples, dy, g.out.height * g.out.width, g.out.channels,
                                               o.d_parameter(1));
        }
        if (o.dxs[0] != nullptr)
            kernel::conv_transpose2d_input_gradient<Arch>(g, o.samples, dy, o.parameter(0), {o.dxs[0], x.stride},
                                                          o.scratch);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        const auto g = transposed_window(v);
        return sizeof(float) * std::max({kernel::conv_transpose2d_batch_scratch<Arch>(g),
                                         kernel::conv_transpose2d_input_gradient_scratch<Arch>(g),
                                         kernel::conv_transpose2d_weight_gradient_scratch<Arch>(g)});
    }

private:
    static std::ptrdiff_t stride(std::size_t size) { return static_cast<std::ptrdiff_t>(size); }
};

}  // namespace v0
}  // namespace zp
