// SPDX-License-Identifier: BSD-3-Clause
// Gradients of operators of two activations, of sums among them, and of where and prelu.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/gradient/binary_gradient.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/binary.hpp>
#include <zeropoint/operators/prelu.hpp>
#include <zeropoint/operators/where.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {
namespace detail {

/// Values of input k of a sample; null where there are none.
inline float* of_sample(float* values, std::size_t size, int sample) {
    return values == nullptr ? nullptr : values + size * static_cast<std::size_t>(sample);
}
inline const float* of_sample(const float* values, std::size_t size, int sample) {
    return values + size * static_cast<std::size_t>(sample);
}

/// Of a function of kernel::binary_gradients. Volumes are planes one below the other.
template <class Function> struct binary_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const shape a = o.at.x_shape(0).as_image(), b = o.at.x_shape(1).as_image(), y = o.at.y_shape().as_image();
        for (int i = 0; i != o.samples; ++i)
            kernel::binary_gradient<Arch, Function>(
                of_sample(o.xs[0], o.x_size(0), i), a, of_sample(o.xs[1], o.x_size(1), i), b,
                of_sample(o.dy, o.y_size(), i), y, of_sample(o.dxs[0], o.x_size(0), i),
                of_sample(o.dxs[1], o.x_size(1), i));
    }
};

}  // namespace detail

template <> struct gradient_of<op::add> : detail::binary_gradient<kernel::binary_gradients::add> {};
template <> struct gradient_of<op::sub> : detail::binary_gradient<kernel::binary_gradients::sub> {};
template <> struct gradient_of<op::mul> : detail::binary_gradient<kernel::binary_gradients::mul> {};
template <> struct gradient_of<op::div> : detail::binary_gradient<kernel::binary_gradients::div> {};
template <> struct gradient_of<op::maximum> : detail::binary_gradient<kernel::binary_gradients::maximum> {};
template <> struct gradient_of<op::minimum> : detail::binary_gradient<kernel::binary_gradients::minimum> {};
template <>
struct gradient_of<op::squared_difference> : detail::binary_gradient<kernel::binary_gradients::squared_difference> {};
template <> struct gradient_of<op::hypot> : detail::binary_gradient<kernel::binary_gradients::hypot> {};

template <> struct gradient_of<op::where> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        const auto conditions = o.x_size(0), channels = o.y_size() / conditions;
        for (int i = 0; i != o.samples; ++i) {
            kernel::where_gradient<Arch>(
                detail::of_sample(o.xs[0], conditions, i), conditions, channels, detail::of_sample(o.dy, o.y_size(), i),
                detail::of_sample(o.dxs[1], o.x_size(1), i), detail::of_sample(o.dxs[2], o.x_size(2), i));
            if (o.dxs[0] != nullptr) std::fill_n(detail::of_sample(o.dxs[0], conditions, i), conditions, 0.0f);
        }
    }
};

template <> struct gradient_of<op::prelu> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        for (int i = 0; i != o.samples; ++i) {
            float* dx = o.dxs[0] == nullptr ? o.scratch : detail::of_sample(o.dxs[0], o.x_size(), i);
            kernel::prelu_gradient<Arch>(detail::of_sample(o.xs[0], o.x_size(), i), o.at.x_shape(), o.parameter(0),
                                         o.at.n.op->options[0], detail::of_sample(o.dy, o.y_size(), i), dx,
                                         o.d_parameter(0));
        }
    }
    template <class Arch> static std::size_t scratch_bytes(const node_view& v, int) {
        return sizeof(float) * static_cast<std::size_t>(v.x_shape().size());
    }
};

}  // namespace zp::inline v0
