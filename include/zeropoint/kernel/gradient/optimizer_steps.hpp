// SPDX-License-Identifier: BSD-3-Clause
// The updates of optimizers over arrays, an element at a time, in PyTorch's order of operations.
#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// Every product and sum is rounded to float, so that the parameters have the same bits on every machine.

namespace zp::inline v0::kernel {

template <class Number> [[gnu::always_inline]] inline Number product(const Number& a, const Number& b) noexcept {
    return rounded(Number(a * b));
}
template <class Number> [[gnu::always_inline]] inline Number root(const Number& x) noexcept {
    if constexpr (std::is_same_v<Number, float>) return std::sqrt(x);
    else return square_root(x);
}

struct sgd_factors {
    float rate, momentum, undamped, weight_decay;  ///< undamped: 1 - dampening
    bool nesterov;
};

/// torch.optim.SGD. `momentum` is null where factors.momentum is 0; is_first sets it to the gradient.
///     g = g + weight_decay * p;  m = momentum * m + undamped * g;  g = nesterov ? g + momentum * m : m;  p = p - rate * g
template <class Arch>
void sgd_step(float* p, const float* gradient, float* momentum, std::size_t count, const sgd_factors& factors,
              bool is_first) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const Number value = load_number<Number>(p + i);
            Number g = load_number<Number>(gradient + i);
            if (factors.weight_decay != 0) g = g + product(Number(factors.weight_decay), value);
            if (momentum != nullptr) {
                const Number by(factors.momentum);
                const Number buffer =
                    is_first
                        ? g
                        : Number(product(by, load_number<Number>(momentum + i)) + product(Number(factors.undamped), g));
                store_number(buffer, momentum + i);
                g = factors.nesterov ? Number(g + product(by, buffer)) : buffer;
            }
            store_number(Number(value - product(Number(factors.rate), g)), p + i);
        });
}

struct adam_factors {
    float kept;          ///< 1 - rate * weight_decay (AdamW), else 1: p is multiplied by it first
    float weight_decay;  ///< coupled (Adam), else 0
    float new_first;     ///< 1 - beta1
    float beta2, new_second;
    float step;             ///< rate / (1 - beta1^t)
    float root_correction;  ///< sqrt(1 - beta2^t)
    float epsilon;
};

/// torch.optim.Adam and AdamW (without amsgrad).
///     p = kept * p;  g = g + weight_decay * p;  m = m + new_first * (g - m);  v = beta2 * v + (new_second * g) * g;
///     p = p - step * (m / (sqrt(v) / root_correction + epsilon))
template <class Arch>
void adam_step(float* p, const float* gradient, float* first, float* second, std::size_t count,
               const adam_factors& factors) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            Number value = load_number<Number>(p + i), g = load_number<Number>(gradient + i);
            if (factors.kept != 1) value = product(Number(factors.kept), value);
            if (factors.weight_decay != 0) g = g + product(Number(factors.weight_decay), value);
            const Number old = load_number<Number>(first + i);
            const Number m = old + product(Number(factors.new_first), Number(g - old));
            const Number v = product(Number(factors.beta2), load_number<Number>(second + i)) +
                             product(product(Number(factors.new_second), g), g);
            store_number(m, first + i);
            store_number(v, second + i);
            const Number width =
                divide_numbers(Number(root(v)), Number(factors.root_correction)) + Number(factors.epsilon);
            store_number(Number(value - product(Number(factors.step), divide_numbers(m, width))), p + i);
        });
}

/// average[i] += weight * (p[i] - average[i])
template <class Arch> void average_step(float* average, const float* p, std::size_t count, float weight) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const Number old = load_number<Number>(average + i);
            store_number(Number(old + product(Number(weight), Number(load_number<Number>(p + i) - old))), average + i);
        });
}

}  // namespace zp::inline v0::kernel
