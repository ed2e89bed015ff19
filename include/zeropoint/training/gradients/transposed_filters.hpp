// SPDX-License-Identifier: BSD-3-Clause
// Gradients of transposed convolutions.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/gradient/conv_transpose2d_gradient.hpp>
#include <zeropoint/operators/conv_transpose2d.hpp>
#include <zeropoint/training/gradients/filters.hpp>

namespace zp::inline v0 {

template <> struct gradient_of<op::conv_transpose2d> {
    template <class Arch> static void forward(const gradient_operands& o, float* y) noexcept {
        kernel::conv_transpose2d_batch<Arch>(transposed_window(o.at), o.samples, detail::batch_of_x(o), o.parameter(0),
                                             o.parameter(1), o.at.n.fused.lowest, o.at.n.fused.highest,
                                             {y, static_cast<std::ptrdiff_t>(o.y_size())}, o.scratch);
    }
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = transposed_window(o.at);
        if (o.d_block != nullptr) {
            kernel::conv_transpose2d_weight_gradient<Arch>(g, o.samples, detail::batch_of_x(o), detail::batch_of_dy(o),
                                                           o.d_parameter(0), o.scratch);
            detail::add_bias_gradient<Arch>(o);
        }
        if (o.dxs[0] != nullptr)
            kernel::conv_transpose2d_input_gradient<Arch>(g, o.samples, detail::batch_of_dy(o), o.parameter(0),
                                                          detail::batch_of_dx(o), o.scratch);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        const auto g = transposed_window(v);
        return sizeof(float) * std::max({kernel::conv_transpose2d_batch_scratch<Arch>(g),
                                         kernel::conv_transpose2d_input_gradient_scratch<Arch>(g),
                                         kernel::conv_transpose2d_weight_gradient_scratch<Arch>(g)});
    }
};

}  // namespace zp::inline v0
