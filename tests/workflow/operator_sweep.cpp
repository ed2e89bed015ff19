// SPDX-License-Identifier: BSD-3-Clause
// The sweep over functions of one value: alone, fused behind a convolution, and one of the user's.
#include <ratio>

#include "operator_sweep.hpp"

namespace {

using operator_sweep::entry;

template <zp::fixed_string Name> using pointwise = zp::conv2d<Name, zp::conv{.out_channels = 8}>;
template <zp::fixed_string Name, class Function>
using behind_conv = entry<Name, zp::sequential<pointwise<Name>, Function>>;

/// A user's activation.
struct bent {
    static constexpr const char* kind = "bent";
    template <class T> T operator()(T x) const { return (std::sqrt(x * x + 1) - 1) / 2 + x; }
};

/// A user's operator with an int8 form: half of each value.
struct half {
    static constexpr const char* kind = "half";
    static constexpr bool elementwise = true;
    static constexpr zp::shape output_shape(zp::shape x) { return x; }
    static void forward(const zp::operands<float>& o) {
        for (int i = 0; i != o.y_shape().size(); ++i) o.y()[i] = o.x()[i] / 2;
    }
    template <class T> static void forward(const zp::operands<T>& o) {
        const zp::kernel::output_codes y = o.y_codes();
        const double ratio = double{o.x_qparams().scale} / 2 / double{o.y_qparams().scale};
        for (int i = 0; i != o.y_shape().size(); ++i) {
            const std::int64_t code = zp::round_half_even(ratio * (o.x()[i] - o.x_qparams().zero_point)) + y.zero_point;
            o.y()[i] = static_cast<T>(std::clamp(code, std::int64_t{y.min}, std::int64_t{y.max}));
        }
    }
};

// clang-format off
struct functions : operator_sweep::branches<zp::input<6, 6, 8>,
    entry<"relu", zp::relu>, entry<"relu6", zp::relu6>, entry<"hardtanh", zp::hardtanh<>>,
    entry<"clamp", zp::clamp<-500, 2000>>, entry<"leaky_relu", zp::leaky_relu<>>, entry<"sigmoid", zp::sigmoid>,
    entry<"tanh", zp::tanh>, entry<"hardswish", zp::hardswish>, entry<"hard_sigmoid", zp::hard_sigmoid>,
    entry<"silu", zp::silu>, entry<"gelu", zp::gelu>, entry<"gelu_tanh", zp::gelu_tanh>, entry<"mish", zp::mish>,
    entry<"softplus", zp::softplus<>>, entry<"elu", zp::elu<>>, entry<"celu", zp::celu<>>, entry<"selu", zp::selu>,
    entry<"threshold", zp::threshold<100, 0>>, entry<"softsign", zp::softsign>, entry<"abs", zp::abs>,
    entry<"neg", zp::neg>, entry<"add_scalar", zp::add_scalar<std::ratio<3, 4>>>,
    entry<"mul_scalar", zp::mul_scalar<std::ratio<3, 4>>>, entry<"activation<F>", zp::activation<bent>>,
    entry<"custom", zp::custom<"half", half>>, entry<"dropout", zp::dropout>> {};

struct fused_functions : operator_sweep::branches<zp::input<6, 6, 8>,
    entry<"conv2d of 1x1", pointwise<"conv2d of 1x1">>,
    behind_conv<"conv2d + relu", zp::relu>, behind_conv<"conv2d + relu6", zp::relu6>,
    behind_conv<"conv2d + hardtanh", zp::hardtanh<>>, behind_conv<"conv2d + leaky_relu", zp::leaky_relu<>>,
    behind_conv<"conv2d + sigmoid", zp::sigmoid>, behind_conv<"conv2d + tanh", zp::tanh>,
    behind_conv<"conv2d + hardswish", zp::hardswish>, behind_conv<"conv2d + hard_sigmoid", zp::hard_sigmoid>,
    behind_conv<"conv2d + silu", zp::silu>, behind_conv<"conv2d + gelu", zp::gelu>,
    behind_conv<"conv2d + gelu_tanh", zp::gelu_tanh>, behind_conv<"conv2d + mish", zp::mish>,
    behind_conv<"conv2d + softplus", zp::softplus<>>, behind_conv<"conv2d + elu", zp::elu<>>,
    behind_conv<"conv2d + celu", zp::celu<>>, behind_conv<"conv2d + selu", zp::selu>,
    behind_conv<"conv2d + threshold", zp::threshold<100, 0>>, behind_conv<"conv2d + softsign", zp::softsign>,
    behind_conv<"conv2d + abs", zp::abs>, behind_conv<"conv2d + neg", zp::neg>,
    behind_conv<"conv2d + add_scalar", zp::add_scalar<std::ratio<3, 4>>>,
    behind_conv<"conv2d + activation<F>", zp::activation<bent>>> {};

struct steep_functions : operator_sweep::branches<zp::input<6, 6, 8>,
    entry<"exp", zp::exp>, entry<"square", zp::square>, behind_conv<"conv2d + exp", zp::exp>,
    behind_conv<"conv2d + square", zp::square>> {};

struct positive : operator_sweep::branches<zp::input<6, 6, 8>,
    entry<"log", zp::log>, entry<"sqrt", zp::sqrt>, entry<"rsqrt", zp::rsqrt>> {};
// clang-format on

}  // namespace

TEST_CASE("operator sweep: functions") { operator_sweep::check<functions>(); }
TEST_CASE("operator sweep: functions behind a convolution") { operator_sweep::check<fused_functions>(); }
TEST_CASE("operator sweep: functions whose range grows with their input's") {
    operator_sweep::check<steep_functions>([](float x) { return std::clamp(x, -2.0f, 2.0f); });
}
TEST_CASE("operator sweep: functions of positive values") {
    operator_sweep::check<positive>([](float x) { return 0.5f + std::abs(x); });
}
