// SPDX-License-Identifier: BSD-3-Clause
// The gradient of a product of two activations.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/gradient/matmul_gradient.hpp>
#include <zeropoint/operators/matmul.hpp>
#include <zeropoint/training/gradients/binary.hpp>

namespace zp::inline v0 {

template <> struct gradient_of<op::matmul> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const kernel::matmul_geometry g = geometry(o.at);
        for (int i = 0; i != o.samples; ++i)
            kernel::matmul_gradient<Arch>(
                g, detail::of_sample(o.xs[0], o.x_size(0), i), detail::of_sample(o.xs[1], o.x_size(1), i),
                detail::of_sample(o.dy, o.y_size(), i), detail::of_sample(o.dxs[0], o.x_size(0), i),
                detail::of_sample(o.dxs[1], o.x_size(1), i), o.scratch);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        return sizeof(float) * kernel::matmul_gradient_scratch<Arch>(geometry(v));
    }

private:
    static kernel::matmul_geometry geometry(const node_view& v) {
        const shape &a = v.x_shape(0), &b = v.x_shape(1);
        kernel::matmul_geometry g =
            kernel::dense_matmul(a.width, a.channels, v.y_shape().channels, v.n.op->options[0] != 0, a.height);
        if (b.height == 1) g.b.batch_pitch = 0;
        return g;
    }
};

}  // namespace zp::inline v0
