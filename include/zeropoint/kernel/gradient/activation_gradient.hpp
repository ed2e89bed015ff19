// SPDX-License-Identifier: BSD-3-Clause
// Gradients of activations: the derivatives of the functions of elementwise/activations.hpp, and of the user's.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/elementwise/activations.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>

// Where a function has a corner its derivative is PyTorch's: relu's kind belongs to the left side, hardswish and hard_sigmoid
// are flat at their corners' outer sides, abs has 0 at 0.

namespace zp::inline v0::kernel {

/// The derivatives, by name: stateless, of a float, a double or a vector of floats.
namespace derivatives {

template <class Number> [[gnu::always_inline]] inline Number logistic(const Number& x) noexcept {
    return divide_numbers<Number>(Number(1.0f), Number(Number(1.0f) + xsimd::exp(Number(-x))));
}
template <class Number, class Condition>
[[gnu::always_inline]] inline Number either(const Condition& condition, const Number& a, const Number& b) noexcept {
    return choose_number(condition, a, b);
}

template <class Number> Number of(const functions::leaky_relu&, const Number& x, float slope) {
    return either(x > Number(0.0f), Number(1.0f), Number(slope));
}
template <class Number> Number of(const functions::sigmoid&, const Number& x, float) {
    const Number y = logistic(x);
    return y * (Number(1.0f) - y);
}
template <class Number> Number of(const functions::tanh&, const Number& x, float) {
    const Number y = xsimd::tanh(x);
    return Number(1.0f) - y * y;
}
template <class Number> Number of(const functions::hard_sigmoid&, const Number& x, float) {
    const Number inside = either<Number>(x < Number(3.0f), constant<Number>(1.0 / 6.0), Number(0.0f));
    return either<Number>(x > Number(-3.0f), inside, Number(0.0f));
}
template <class Number> Number of(const functions::hardswish&, const Number& x, float) {
    const Number inside = x * constant<Number>(1.0 / 3.0) + Number(0.5f);
    const Number bounded = either<Number>(x < Number(3.0f), inside, Number(1.0f));
    return either<Number>(x > Number(-3.0f), bounded, Number(0.0f));
}
template <class Number> Number of(const functions::silu&, const Number& x, float) {
    const Number y = logistic(x);
    return y * (Number(1.0f) + x * (Number(1.0f) - y));
}
template <class Number> Number of(const functions::gelu&, const Number& x, float) {
    const Number below =
        Number(0.5f) * (Number(1.0f) + xsimd::erf(Number(x * constant<Number>(0.70710678118654752440))));
    const Number density = constant<Number>(0.39894228040143267794) * xsimd::exp(Number(x * x * Number(-0.5f)));
    return below + x * density;
}
template <class Number> Number of(const functions::gelu_tanh&, const Number& x, float) {
    const Number root = constant<Number>(0.79788456080286535588), cube = constant<Number>(0.044715), square = x * x;
    const Number y = xsimd::tanh(Number(root * (x + cube * square * x)));
    const Number inner = root * (Number(1.0f) + Number(3.0f) * cube * square);
    return Number(0.5f) * (Number(1.0f) + y) + Number(0.5f) * x * (Number(1.0f) - y * y) * inner;
}
template <class Number, int Beta, int Threshold>
Number of(const functions::softplus<Beta, Threshold>&, const Number& x, float) {
    const Number scaled = x * constant<Number>(Beta / 1e3);
    return either<Number>(scaled > constant<Number>(Threshold / 1e3), Number(1.0f), logistic(scaled));
}
template <class Number> Number of(const functions::mish&, const Number& x, float) {
    const Number y = xsimd::tanh(functions::softplus<1000, 20000>{}(x));
    return y + x * (Number(1.0f) - y * y) * logistic(x);
}
template <class Number, int Alpha> Number of(const functions::elu<Alpha>&, const Number& x, float) {
    const Number below = constant<Number>(Alpha / 1e3) * xsimd::exp(Number(xsimd::min(x, Number(0.0f))));
    return either<Number>(x > Number(0.0f), Number(1.0f), below);
}
template <class Number, int Alpha> Number of(const functions::celu<Alpha>&, const Number& x, float) {
    const Number scaled = xsimd::min(x, Number(0.0f)) * constant<Number>(1e3 / Alpha);
    return either<Number>(x > Number(0.0f), Number(1.0f), xsimd::exp(scaled));
}
template <class Number> Number of(const functions::selu&, const Number& x, float) {
    const Number scale = constant<Number>(1.0507009873554804934), alpha = constant<Number>(1.6732632423543772848);
    const Number below = scale * alpha * xsimd::exp(Number(xsimd::min(x, Number(0.0f))));
    return either<Number>(x > Number(0.0f), scale, below);
}
template <class Number, int Limit, int Value>
Number of(const functions::threshold<Limit, Value>&, const Number& x, float) {
    return either<Number>(x > constant<Number>(Limit / 1e3), Number(1.0f), Number(0.0f));
}
template <class Number, class Addend> Number of(const functions::add_scalar<Addend>&, const Number&, float) {
    return Number(1.0f);
}
template <class Number> Number of(const functions::softsign&, const Number& x, float) {
    const Number below = Number(1.0f) + xsimd::abs(x);
    return divide_numbers<Number>(Number(1.0f), Number(below * below));
}
template <class Number> Number of(const functions::exp&, const Number& x, float) { return xsimd::exp(x); }
template <class Number> Number of(const functions::log&, const Number& x, float) {
    return divide_numbers<Number>(Number(1.0f), x);
}
template <class Number> Number of(const functions::sqrt&, const Number& x, float) {
    return divide_numbers<Number>(Number(0.5f), functions::sqrt{}(x));
}
template <class Number> Number of(const functions::rsqrt&, const Number& x, float) {
    const Number y = functions::rsqrt{}(x);
    return Number(-0.5f) * y * y * y;
}
template <class Number> Number of(const functions::abs&, const Number& x, float) {
    const Number right = either<Number>(x > Number(0.0f), Number(1.0f), Number(0.0f));
    return either<Number>(x < Number(0.0f), Number(-1.0f), right);
}
template <class Number> Number of(const functions::neg&, const Number&, float) { return Number(-1.0f); }
template <class Number> Number of(const functions::square&, const Number& x, float) { return x + x; }

}  // namespace derivatives

/// Whether the library knows the derivative of F.
template <class F> concept known_derivative = requires(const F& f, float x) { derivatives::of(f, x, x); };
/// A callable of the user's that brings its own: `float derivative(float x) const`.
template <class F> concept own_derivative = requires(const F& f, float x) { f.derivative(x); };

/// The derivative of a callable at x: the library's, its own, or a central difference. That is in double if the callable
/// takes and gives doubles (then within 1e-9 of smooth functions), else in float, with a step of 1/256 of x's magnitude,
/// at least of 1.
template <class F> float derivative_at(const F& f, float x) {
    if constexpr (own_derivative<F>) {
        return static_cast<float>(f.derivative(x));
    } else {
        constexpr bool takes_doubles = std::is_same_v<std::decay_t<decltype(f(double{}))>, double>;
        using value = std::conditional_t<takes_doubles, double, float>;
        const value at = x, size = std::fabs(at) > 1 ? std::fabs(at) : value(1);
        const value step = size * (takes_doubles ? value(0x1p-17) : value(0x1p-8));
        const value above = at + step, below = at - step;
        return static_cast<float>((static_cast<value>(f(above)) - static_cast<value>(f(below))) / (above - below));
    }
}

/// dx[i] = dy[i] * F'(x[i]); `parameter` is what F takes besides x, a leaky_relu's slope. dx may be dy or x. Values behind the
/// last full vector go through a vector of their own, so that a result depends on its value alone.
template <class Arch, class F>
void activation_gradient(const float* x, const float* dy, std::size_t count, float parameter, float* dx) noexcept {
    if constexpr (!known_derivative<F>) {
        static_cast<void>(parameter);
        for (std::size_t i = 0; i != count; ++i) dx[i] = dy[i] * derivative_at(F{}, x[i]);
    } else if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        std::size_t i = 0;
        const auto passed = [parameter](const float* value, const float* given) {
            return floats::load_unaligned(given) *
                   derivatives::of(F{}, floats(floats::load_unaligned(value)), parameter);
        };
        for (; i + floats::size <= count; i += floats::size) passed(x + i, dy + i).store_unaligned(dx + i);
        if (i == count) return;
        std::array<float, floats::size> value{}, given{};
        std::copy(x + i, x + count, value.begin());
        std::copy(dy + i, dy + count, given.begin());
        passed(value.data(), given.data()).store_unaligned(given.data());
        std::copy_n(given.begin(), count - i, dx + i);
    } else {
        for (std::size_t i = 0; i != count; ++i) dx[i] = dy[i] * derivatives::of(F{}, x[i], parameter);
    }
}

}  // namespace zp::inline v0::kernel
