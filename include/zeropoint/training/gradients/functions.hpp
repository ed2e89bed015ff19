// SPDX-License-Identifier: BSD-3-Clause
// Gradients of functions of one value: by the derivative where the library knows it, else by differences in double.
#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/gradient/activation_gradient.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/mul_scalar.hpp>
#include <zeropoint/training/gradient.hpp>

namespace zp::inline v0 {
namespace detail {

/// dx = dy * F'(x).
template <class F> struct known_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.dxs[0] == nullptr) return;
        kernel::activation_gradient<Arch, F>(o.xs[0], o.dy, o.y_size() * static_cast<std::size_t>(o.samples),
                                             o.at.n.parameter, o.dxs[0]);
    }
};
/// Of the function that the node's rules have: a central difference in double.
struct difference_gradient {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.dxs[0] == nullptr) return;
        const std::size_t count = o.y_size() * static_cast<std::size_t>(o.samples);
        for (std::size_t i = 0; i != count; ++i) {
            const double x = o.xs[0][i], step = std::fmax(std::fabs(x), 1.0) * 0x1p-12;
            const double above = o.rules->value(x + step, o.at.n.parameter),
                         below = o.rules->value(x - step, o.at.n.parameter);
            o.dxs[0][i] = static_cast<float>(double{o.dy[i]} * (above - below) / (2 * step));
        }
    }
};

template <class...> struct callables {};
using known_callables =
    callables<kernel::functions::hard_sigmoid, kernel::functions::silu, kernel::functions::gelu,
              kernel::functions::gelu_tanh, kernel::functions::mish, kernel::functions::softplus<1000, 20000>,
              kernel::functions::elu<1000>, kernel::functions::celu<1000>, kernel::functions::selu,
              kernel::functions::softsign, kernel::functions::exp, kernel::functions::log, kernel::functions::sqrt,
              kernel::functions::rsqrt, kernel::functions::abs, kernel::functions::neg, kernel::functions::square>;

template <const operator_info& Op> constexpr auto gradient_among(callables<>) {
    return std::type_identity<difference_gradient>();
}
template <const operator_info& Op, class First, class... Rest>
constexpr auto gradient_among(callables<First, Rest...>) {
    if constexpr (Op.function == &operators::function_of<First>) return std::type_identity<known_gradient<First>>();
    else return gradient_among<Op>(callables<Rest...>());
}

}  // namespace detail

template <> struct gradient_of<op::sigmoid> : detail::known_gradient<kernel::functions::sigmoid> {};
template <> struct gradient_of<op::tanh> : detail::known_gradient<kernel::functions::tanh> {};
template <> struct gradient_of<op::hardswish> : detail::known_gradient<kernel::functions::hardswish> {};
template <> struct gradient_of<op::leaky_relu> : detail::known_gradient<kernel::functions::leaky_relu> {};
template <> struct gradient_of<op::activation> {
    static constexpr bool is_by_operator = true;
    template <const operator_info& Op>
    struct of : decltype(detail::gradient_among<Op>(detail::known_callables()))::type {};
};

/// By a constant, or by what follows from the extents: the factor by which it changes the scale of codes.
template <> struct gradient_of<op::mul_scalar> {
    template <class Arch> static void backward(const gradient_operands& o) noexcept {
        if (o.dxs[0] == nullptr) return;
        const float factor = o.rules->derive(o.at, {1, 0}).scale;
        const std::size_t count = o.y_size() * static_cast<std::size_t>(o.samples);
        for (std::size_t i = 0; i != count; ++i) o.dxs[0][i] = factor * o.dy[i];
    }
};

}  // namespace zp::inline v0
