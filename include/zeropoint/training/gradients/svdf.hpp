// SPDX-License-Identifier: BSD-3-Clause
// The gradient of SVDF layers.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/gradient/svdf_gradient.hpp>
#include <zeropoint/operators/svdf.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {

/// Of the features, the weights over time and the bias; the scale of the state is no floats' affair.
template <> struct gradient_of<op::svdf> {
    static constexpr bool trains(const operator_info&, int array) { return array < 3; }
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const operators::svdf_layer layer = operators::svdf_layer_of(*o.at.n.op);
        const shape& in = o.at.x_shape();
        float* const dbias = layer.has_bias ? o.d_parameter(2) : nullptr;
        for (std::size_t i = 0; i != static_cast<std::size_t>(o.samples); ++i)
            kernel::svdf_gradient<Arch>(layer, in.width, in.channels, o.xs[0] + i * o.x_size(), o.parameter(0),
                                        o.parameter(1), o.dy + i * o.y_size(),
                                        o.dxs[0] == nullptr ? nullptr : o.dxs[0] + i * o.x_size(), o.d_parameter(0),
                                        o.d_parameter(1), dbias, o.scratch);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        return sizeof(float) * kernel::svdf_gradient_scratch(operators::svdf_layer_of(*v.n.op), v.x_shape().width);
    }
};

}  // namespace zp::inline v0
