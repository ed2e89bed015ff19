// SPDX-License-Identifier: BSD-3-Clause
// Activations, each written once for what computes it: float, vectors of floats, and double for 256-entry tables.
#pragma once

#include <cmath>
#include <type_traits>

#include <zeropoint/kernel/epilogue/float_epilogue.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/float_functions.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// A float, a double, or a vector of floats; xsimd has the same functions for all three.
template <class Number> inline constexpr bool is_vector = !std::is_floating_point_v<Number>;

template <class Number> [[gnu::always_inline]] inline Number constant(double value) {
    if constexpr (is_vector<Number>) return Number(static_cast<float>(value));
    else return static_cast<Number>(value);
}

/// Callables without members. `kind` is the function's name, `constants` what tells it from others of that name,
/// `output_min` and `output_max` its range, where one is known beforehand. Definitions are PyTorch's.
namespace functions {

/// What the functions of this file have in common: they take vectors.
struct vectorized {
    static constexpr bool takes_vectors = true;
};

/// x for x > 0, slope * x otherwise
struct leaky_relu : vectorized {
    static constexpr const char* kind = "leaky_relu";
    static constexpr bool takes_parameter = true;
    template <class Number> Number operator()(const Number& x, float slope) const {
        return xsimd::select(x > Number(0.0f), x, x * Number(slope));
    }
};

/// 1 / (1 + exp(-x)), within a few units in the last place; not the same bits on every architecture.
struct sigmoid : vectorized {
    static constexpr const char* kind = "sigmoid";
    static constexpr float output_min = 0, output_max = 1;
    template <class Number> Number operator()(const Number& x) const {
        return divide_numbers(Number(1.0f), Number(1.0f) + xsimd::exp(-x));
    }
};

/// In float bounded_tanh(), the same bits on every architecture.
struct tanh : vectorized {
    static constexpr const char* kind = "tanh";
    static constexpr float output_min = -1, output_max = 1;
    template <class Number> Number operator()(const Number& x) const {
        if constexpr (std::is_same_v<Number, double>) return std::tanh(x);
        else return bounded_tanh(x);
    }
};

/// min(max(x + 3, 0), 6) / 6
struct hard_sigmoid : vectorized {
    static constexpr const char* kind = "hard_sigmoid";
    static constexpr float output_min = 0, output_max = 1;
    template <class Number> Number operator()(const Number& x) const {
        return divide_numbers(xsimd::min(xsimd::max(x + Number(3.0f), Number(0.0f)), Number(6.0f)), Number(6.0f));
    }
};

/// x * min(max(x + 3, 0), 6) / 6
struct hardswish : vectorized {
    static constexpr const char* kind = "hardswish";
    template <class Number> Number operator()(const Number& x) const {
        return divide_numbers(x * xsimd::min(xsimd::max(x + Number(3.0f), Number(0.0f)), Number(6.0f)), Number(6.0f));
    }
};

/// x / (1 + exp(-x))
struct silu : vectorized {
    static constexpr const char* kind = "silu";
    template <class Number> Number operator()(const Number& x) const {
        return divide_numbers(x, Number(1.0f) + xsimd::exp(-x));
    }
};

/// x * (1 + erf(x / sqrt(2))) / 2
struct gelu : vectorized {
    static constexpr const char* kind = "gelu";
    static constexpr float_epilogue epilogue = float_epilogue::gelu;
    template <class Number> Number operator()(const Number& x) const {
        if constexpr (std::is_same_v<Number, double>) return x * 0.5 * (1.0 + std::erf(x * 0.70710678118654752440));
        else return bounded_gelu(x);
    }
};

/// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2: PyTorch's GELU(approximate="tanh")
struct gelu_tanh : vectorized {
    static constexpr const char* kind = "gelu_tanh";
    template <class Number> Number operator()(const Number& x) const {
        const Number inner = constant<Number>(0.79788456080286535588) * (x + constant<Number>(0.044715) * x * x * x);
        return x * Number(0.5f) * (Number(1.0f) + xsimd::tanh(inner));
    }
};

/// log(1 + exp(Beta * x)) / Beta, and x where Beta * x > Threshold; both in thousandths.
template <int Beta, int Threshold> struct softplus : vectorized {
    static constexpr const char* kind = "softplus";
    static constexpr float constants[] = {static_cast<float>(Beta / 1e3), static_cast<float>(Threshold / 1e3)};
    template <class Number> Number operator()(const Number& x) const {
        const Number beta = constant<Number>(Beta / 1e3), threshold = constant<Number>(Threshold / 1e3);
        const Number scaled = x * beta;
        const Number curve = divide_numbers<Number>(xsimd::log1p(xsimd::exp(xsimd::min(scaled, threshold))), beta);
        return xsimd::select(scaled > threshold, x, curve);
    }
};

/// x * tanh(log(1 + exp(x)))
struct mish : vectorized {
    static constexpr const char* kind = "mish";
    template <class Number> Number operator()(const Number& x) const {
        return x * xsimd::tanh(softplus<1000, 20000>{}(x));
    }
};

/// x for x > 0, Alpha * (exp(x) - 1) otherwise; Alpha in thousandths.
template <int Alpha> struct elu : vectorized {
    static constexpr const char* kind = "elu";
    static constexpr float constants[] = {static_cast<float>(Alpha / 1e3)};
    template <class Number> Number operator()(const Number& x) const {
        const Number below = constant<Number>(Alpha / 1e3) * xsimd::expm1(xsimd::min(x, Number(0.0f)));
        return xsimd::select(x > Number(0.0f), x, below);
    }
};

/// x for x > 0, Alpha * (exp(x / Alpha) - 1) otherwise; Alpha in thousandths.
template <int Alpha> struct celu : vectorized {
    static constexpr const char* kind = "celu";
    static constexpr float constants[] = {static_cast<float>(Alpha / 1e3)};
    template <class Number> Number operator()(const Number& x) const {
        const Number alpha = constant<Number>(Alpha / 1e3);
        const Number below = alpha * xsimd::expm1(divide_numbers<Number>(xsimd::min(x, Number(0.0f)), alpha));
        return xsimd::select(x > Number(0.0f), x, below);
    }
};

/// scale * (x for x > 0, alpha * (exp(x) - 1) otherwise), with the constants of self-normalizing networks
struct selu : vectorized {
    static constexpr const char* kind = "selu";
    template <class Number> Number operator()(const Number& x) const {
        const Number scale = constant<Number>(1.0507009873554804934), alpha = constant<Number>(1.6732632423543772848);
        const Number below = alpha * xsimd::expm1(xsimd::min(x, Number(0.0f)));
        return scale * xsimd::select(x > Number(0.0f), x, below);
    }
};

/// x for x > Limit, Value otherwise; both in thousandths.
template <int Limit, int Value> struct threshold : vectorized {
    static constexpr const char* kind = "threshold";
    static constexpr bool has_step = Limit != Value;
    static constexpr float constants[] = {static_cast<float>(Limit / 1e3), static_cast<float>(Value / 1e3)};
    template <class Number> Number operator()(const Number& x) const {
        return xsimd::select(x > constant<Number>(Limit / 1e3), x, constant<Number>(Value / 1e3));
    }
};

/// x + Addend, a std::ratio.
template <class Addend> struct add_scalar : vectorized {
    static constexpr const char* kind = "add_scalar";
    static constexpr double addend = static_cast<double>(Addend::num) / static_cast<double>(Addend::den);
    static constexpr float constants[] = {static_cast<float>(addend)};
    template <class Number> Number operator()(const Number& x) const { return x + constant<Number>(addend); }
};

/// x / (1 + |x|)
struct softsign : vectorized {
    static constexpr const char* kind = "softsign";
    template <class Number> Number operator()(const Number& x) const {
        return divide_numbers<Number>(x, Number(1.0f) + xsimd::abs(x));
    }
};

struct exp : vectorized {
    static constexpr const char* kind = "exp";
    template <class Number> Number operator()(const Number& x) const { return xsimd::exp(x); }
};

/// The natural logarithm. In a table, codes of 0 and below give the lowest code, resp. 0.
struct log : vectorized {
    static constexpr const char* kind = "log";
    template <class Number> Number operator()(const Number& x) const { return xsimd::log(x); }
};

struct sqrt : vectorized {
    static constexpr const char* kind = "sqrt";
    template <class Number> Number operator()(const Number& x) const {
        if constexpr (is_vector<Number>) return square_root(x);
        else return std::sqrt(x);
    }
};

struct rsqrt : vectorized {
    static constexpr const char* kind = "rsqrt";
    template <class Number> Number operator()(const Number& x) const {
        return divide_numbers<Number>(Number(1.0f), sqrt{}(x));
    }
};

struct abs : vectorized {
    static constexpr const char* kind = "abs";
    template <class Number> Number operator()(const Number& x) const { return xsimd::abs(x); }
};

struct neg : vectorized {
    static constexpr const char* kind = "neg";
    template <class Number> Number operator()(const Number& x) const { return -x; }
};

struct square : vectorized {
    static constexpr const char* kind = "square";
    template <class Number> Number operator()(const Number& x) const { return x * x; }
};

}  // namespace functions

}  // namespace zp::inline v0::kernel
