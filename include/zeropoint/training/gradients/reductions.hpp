// Gradients of sums, means, extrema, products, variances and deviations along axes.
#pragma once

#include <zeropoint/kernel/gradient/reduction_gradient.hpp>
#include <zeropoint/operators/reduce.hpp>
#include <zeropoint/operators/sum.hpp>
#include <zeropoint/operators/variance.hpp>
#include <zeropoint/training/gradients/pools.hpp>

namespace zp {
inline namespace v0 {
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

}  // namespace v0
}  // namespace zp
