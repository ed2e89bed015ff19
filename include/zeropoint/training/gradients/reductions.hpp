// SPDX-License-Identifier: BSD-3-Clause
// Gradients of sums, means, extrema, products, variances and deviations along axes, of sorting and of the largest values.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/gradient/reduction_gradient.hpp>
#include <zeropoint/kernel/gradient/topk_gradient.hpp>
#include <zeropoint/operators/reduce.hpp>
#include <zeropoint/operators/sum.hpp>
#include <zeropoint/operators/topk.hpp>
#include <zeropoint/operators/variance.hpp>
#include <zeropoint/training/gradients/pools.hpp>

namespace zp::inline v0 {
namespace detail {

template <bool Mean> struct sum_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const shape in = o.at.x_shape().as_image(), out = o.at.y_shape().as_image();
        of_each_sample(o, [&](const float*, const float* dy, float* dx) {
            kernel::sum_axes_gradient<Arch>(in, out, Mean ? in.size() / out.size() : 1, dy, dx);
        });
    }
};
template <kernel::moment Which> struct moment_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        of_each_sample(o, [&](const float* x, const float* dy, float* dx) {
            kernel::moment_gradient<Arch, Which>(o.at.x_shape(), o.at.y_shape(), o.at.n.op->options[1], x, dy, dx);
        });
    }
};
struct extremum_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const float* y = o.y;
        of_each_sample(o, [&](const float* x, const float* dy, float* dx) {
            kernel::extremum_gradient<Arch>(o.at.x_shape(), o.at.y_shape(), x, y, dy, dx);
            y += o.y_size();
        });
    }
};

}  // namespace detail

template <> struct gradient_of<op::sum> : detail::sum_gradient<false> {};
template <> struct gradient_of<op::mean> : detail::sum_gradient<true> {};
template <> struct gradient_of<op::variance> : detail::moment_gradient<kernel::moment::variance> {};
template <> struct gradient_of<op::standard_deviation> : detail::moment_gradient<kernel::moment::standard_deviation> {};
template <> struct gradient_of<op::reduce_max> : detail::extremum_gradient {};
template <> struct gradient_of<op::reduce_min> : detail::extremum_gradient {};
template <> struct gradient_of<op::reduce_prod> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        detail::of_each_sample(o, [&](const float* x, const float* dy, float* dx) {
            kernel::product_gradient<Arch>(o.at.x_shape(), o.at.y_shape(), x, dy, dx);
        });
    }
};

template <> struct gradient_of<op::sort> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto pixels = static_cast<std::size_t>(o.at.x_shape().pixels()),
                   channels = static_cast<std::size_t>(o.at.x_shape().channels),
                   k = static_cast<std::size_t>(o.at.y_shape().channels);
        const bool is_descending = o.at.n.op->options[1] != 0;
        detail::of_each_sample(o, [&](const float* x, const float* dy, float* dx) {
            auto* order = reinterpret_cast<std::int32_t*>(o.scratch);
            if (is_descending) kernel::topk_gradient<Arch, true>(x, dy, pixels, channels, k, dx, order);
            else kernel::topk_gradient<Arch, false>(x, dy, pixels, channels, k, dx, order);
        });
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        return sizeof(std::int32_t) * static_cast<std::size_t>(v.x_shape().channels);
    }
};

}  // namespace zp::inline v0
