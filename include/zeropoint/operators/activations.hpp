// SPDX-License-Identifier: BSD-3-Clause
// Activations as layers: those of PyTorch and any that the user writes as a callable type.
#pragma once

#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/operators/function.hpp>

namespace zp::inline v0 {

// All others: in int8 a table, of 256 entries alone and of 1024 fused behind a conv2d or linear in front of them. Numbers
// are given in thousandths, and have PyTorch's defaults.

/// An activation of the user's: F is an activation_callable, a stateless type with `float operator()(float) const` and a
/// name, `kind`. Which function it is enters the signature of a file by kind and constants.
template <class F> struct activation {
    static_assert(activation_callable<F>,
                  "activation<F>: F must be a stateless type with `float operator()(float) const` and a name, `static "
                  "constexpr const char* kind`");
    static constexpr int nodes = 1;
    static constexpr int lower(builder& b, int x) {
        if constexpr (activation_callable<F>) return operators::append_function<F>(b, x);
        else return relu::lower(b, x);  // a node in its place: one mistake is one message
    }
};

/// 1 / (1 + e^-x).
struct sigmoid : operators::function_layer<kernel::functions::sigmoid, op::sigmoid> {};
/// The hyperbolic tangent.
struct tanh : operators::function_layer<kernel::functions::tanh, op::tanh> {};
/// x * min(max(x + 3, 0), 6) / 6.
struct hardswish : operators::function_layer<kernel::functions::hardswish, op::hardswish> {};
/// x for x > 0, negative_slope * x otherwise.
template <int SlopeThousandths = 10>
struct leaky_relu : operators::function_layer<kernel::functions::leaky_relu, op::leaky_relu, SlopeThousandths> {};
/// min(max(x + 3, 0), 6) / 6.
struct hard_sigmoid : operators::function_layer<kernel::functions::hard_sigmoid> {};
/// x / (1 + e^-x), also called swish.
struct silu : operators::function_layer<kernel::functions::silu> {};
/// By erf; gelu_tanh is PyTorch's approximate="tanh".
struct gelu : operators::function_layer<kernel::functions::gelu> {};
/// gelu by a hyperbolic tangent: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
struct gelu_tanh : operators::function_layer<kernel::functions::gelu_tanh> {};
/// x * tanh(log(1 + e^x)).
struct mish : operators::function_layer<kernel::functions::mish> {};
/// log(1 + e^(Beta x)) / Beta; x where Beta x is above Threshold.
template <int BetaThousandths = 1000, int ThresholdThousandths = 20000>
struct softplus : operators::function_layer<kernel::functions::softplus<BetaThousandths, ThresholdThousandths>> {
    static_assert(BetaThousandths > 0, "softplus<Beta, Threshold>: Beta must be above 0");
};
/// x for x > 0, Alpha * (e^x - 1) otherwise.
template <int AlphaThousandths = 1000>
struct elu : operators::function_layer<kernel::functions::elu<AlphaThousandths>> {};
/// x for x > 0, Alpha * (e^(x / Alpha) - 1) otherwise.
template <int AlphaThousandths = 1000>
struct celu : operators::function_layer<kernel::functions::celu<AlphaThousandths>> {
    static_assert(AlphaThousandths != 0, "celu<Alpha>: Alpha must not be 0");
};
/// elu with the constants of Klambauer et al., 2017, scaled.
struct selu : operators::function_layer<kernel::functions::selu> {};
/// x for x > Limit, Value otherwise.
template <int LimitThousandths, int ValueThousandths>
struct threshold : operators::function_layer<kernel::functions::threshold<LimitThousandths, ValueThousandths>> {};
/// x + Addend, a std::ratio, which may be below 0. The sum has a scale of its own, as all tables have, so that the addend may
/// be larger than any value; behind a conv2d or linear it costs nothing but the table.
template <class Addend> struct add_scalar : operators::function_layer<kernel::functions::add_scalar<Addend>> {};
/// x / (1 + |x|).
struct softsign : operators::function_layer<kernel::functions::softsign> {};
/// e^x.
struct exp : operators::function_layer<kernel::functions::exp> {};
/// Of values above 0: in float another gives NaN or minus infinity, which stops calibration.
struct log : operators::function_layer<kernel::functions::log> {};
/// The square root: of values from 0 on.
struct sqrt : operators::function_layer<kernel::functions::sqrt> {};
/// 1 / sqrt(x): of values above 0.
struct rsqrt : operators::function_layer<kernel::functions::rsqrt> {};
/// |x|.
struct abs : operators::function_layer<kernel::functions::abs> {};
/// -x.
struct neg : operators::function_layer<kernel::functions::neg> {};
/// x * x.
struct square : operators::function_layer<kernel::functions::square> {};

}  // namespace zp::inline v0
