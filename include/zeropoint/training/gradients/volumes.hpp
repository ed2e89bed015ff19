// SPDX-License-Identifier: BSD-3-Clause
// Gradients of convolutions over volumes, transposed ones too, and of pools of volumes.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/gradient/volume_gradient.hpp>
#include <zeropoint/kernel/gradient/volume_pooling_gradient.hpp>
#include <zeropoint/operators/conv3d.hpp>
#include <zeropoint/operators/conv_transpose3d.hpp>
#include <zeropoint/operators/volume_pooling.hpp>
#include <zeropoint/training/gradients/filters.hpp>
#include <zeropoint/training/gradients/pools.hpp>

namespace zp::inline v0 {
namespace detail {

/// The options of a volume's pool, in the order of its record.
inline volume_pool volume_pool_of_node(const node& n) {
    const std::span<const int> o = n.op->options;
    return {{o[0], o[1], o[2]}, {o[3], o[4], o[5]}, {o[6], o[7], o[8]}, {o[9], o[10], o[11]}, o[12] != 0, o[13] != 0};
}

}  // namespace detail

template <> struct gradient_of<op::conv3d> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = volume_window(o.at);
        if (o.d_block != nullptr) {
            kernel::conv3d_weight_gradient<Arch>(g, o.samples, detail::batch_of_x(o), detail::batch_of_dy(o),
                                                 o.d_parameter(0), o.scratch);
            detail::add_bias_gradient<Arch>(o);
        }
        if (o.dxs[0] != nullptr)
            kernel::conv3d_input_gradient<Arch>(g, o.samples, detail::batch_of_dy(o), o.parameter(0),
                                                detail::batch_of_dx(o), o.scratch);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        return sizeof(float) * kernel::conv3d_gradient_scratch<Arch>(volume_window(v));
    }
};
template <> struct gradient_of<op::conv_transpose3d> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = transposed_volume_window(o.at);
        if (o.d_block != nullptr) {
            kernel::conv_transpose3d_weight_gradient<Arch>(g, o.samples, detail::batch_of_x(o), detail::batch_of_dy(o),
                                                           o.d_parameter(0), o.scratch);
            detail::add_bias_gradient<Arch>(o);
        }
        if (o.dxs[0] != nullptr)
            kernel::conv_transpose3d_input_gradient<Arch>(g, o.samples, detail::batch_of_dy(o), o.parameter(0),
                                                          detail::batch_of_dx(o), o.scratch);
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        return sizeof(float) * kernel::conv_transpose3d_gradient_scratch<Arch>(transposed_volume_window(v));
    }
};

template <> struct gradient_of<op::max_pool3d> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto g = detail::volume_pool_of_node(o.at.n).over(o.at.x_shape());
        detail::of_each_sample(
            o, [&](const float* x, const float* dy, float* dx) { kernel::max_pool3d_gradient<Arch>(g, x, dy, dx); });
    }
};
template <> struct gradient_of<op::avg_pool3d> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const volume_pool pool = detail::volume_pool_of_node(o.at.n);
        const auto g = pool.over(o.at.x_shape());
        detail::of_each_sample(o, [&](const float*, const float* dy, float* dx) {
            kernel::avg_pool3d_gradient<Arch>(g, pool.count_include_pad, dy, dx);
        });
    }
};
template <> struct gradient_of<op::adaptive_avg_pool3d> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        detail::of_each_sample(o, [&](const float*, const float* dy, float* dx) {
            kernel::adaptive_avg_pool3d_gradient<Arch>(o.at.x_shape(), o.at.y_shape(), dy, dx);
        });
    }
};

}  // namespace zp::inline v0
