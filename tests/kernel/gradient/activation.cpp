// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <ratio>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/activation_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
namespace functions = kernel::functions;
using namespace gradients;

template <class F> double call(double x, float parameter) {
    if constexpr (requires { F::takes_parameter; }) return F{}(x, parameter);
    else return F{}(x);
}

/// Differences of the function in double, at values that are not next to a corner.
template <class F> void compare(float low, float high, float parameter = 0) {
    CAPTURE(F::kind);
    for (const std::size_t count : {1u, 8u, 37u, 61u}) {
        const floats values = arrays::reals(count, count, low, high), dy = arrays::reals(count, 2, -1, 1);
        doubles x = widened(values);
        const doubles expected = differences(
            x,
            [&] {
                double sum = 0;
                for (std::size_t i = 0; i != count; ++i) sum += call<F>(x[i], parameter) * double{dy[i]};
                return sum;
            },
            1e-5);
        arrays::for_each_architecture([&]<class Arch>() {
            floats dx(count, NAN);
            kernel::activation_gradient<Arch, F>(values.data(), dy.data(), count, parameter, dx.data());
            CHECK(distance(dx, expected) < 3e-6);
        });
    }
}

/// One without a derivative, and one with.
struct cube {
    template <class Number> Number operator()(Number x) const { return x * x * x; }
};
struct float_cube {
    float operator()(float x) const { return x * x * x; }
};
struct own_cube : cube {
    float derivative(float x) const { return 3 * x * x; }
};

}  // namespace

TEST_CASE("gradients of activations: finite differences in double") {
    compare<functions::leaky_relu>(-4, 4, 0.125f);
    compare<functions::sigmoid>(-12, 12);
    compare<functions::tanh>(-6, 6);
    compare<functions::hard_sigmoid>(-5, 5);
    compare<functions::hardswish>(-5, 5);
    compare<functions::silu>(-12, 12);
    compare<functions::gelu>(-6, 6);
    compare<functions::gelu_tanh>(-6, 6);
    compare<functions::softplus<1000, 20000>>(-12, 12);
    compare<functions::softplus<2000, 3000>>(-4, 4);
    compare<functions::mish>(-8, 8);
    compare<functions::elu<1000>>(-6, 4);
    compare<functions::elu<500>>(-6, 4);
    compare<functions::celu<2000>>(-6, 4);
    compare<functions::selu>(-6, 4);
    compare<functions::threshold<500, 250>>(-2, 3);
    compare<functions::add_scalar<std::ratio<3, 2>>>(-2, 3);
    compare<functions::softsign>(-6, 6);
    compare<functions::exp>(-6, 3);
    compare<functions::log>(0.1f, 9);
    compare<functions::sqrt>(0.1f, 9);
    compare<functions::rsqrt>(0.1f, 9);
    compare<functions::abs>(-4, 4);
    compare<functions::neg>(-4, 4);
    compare<functions::square>(-4, 4);
}

TEST_CASE("gradients of activations: at corners PyTorch's") {
    const auto at = [](auto function, float x) {
        float dx = NAN;
        const float one = 1;
        kernel::activation_gradient<zp::default_architecture, decltype(function)>(&x, &one, 1, 0.25f, &dx);
        return dx;
    };
    CHECK(at(functions::leaky_relu{}, 0) == 0.25f);
    CHECK(at(functions::hard_sigmoid{}, -3) == 0);
    CHECK(at(functions::hard_sigmoid{}, 3) == 0);
    CHECK(at(functions::hardswish{}, -3) == 0);
    CHECK(at(functions::hardswish{}, 3) == 1);
    CHECK(at(functions::abs{}, 0) == 0);
    CHECK(at(functions::threshold<1000, 0>{}, 1) == 0);
    CHECK(at(functions::elu<500>{}, 0) == 0.5f);
    CHECK(at(functions::gelu{}, 40) == 1);
    CHECK(at(functions::gelu{}, -40) == 0);
    CHECK(at(functions::silu{}, 90) == 1);
    CHECK(at(functions::mish{}, 90) == 1);
}

TEST_CASE("gradients of activations: a callable of the user's") {
    const float x[] = {-2, 0, 0.5f, 30}, dy[] = {1, 1, -2, 1}, expected[] = {12, 0, -1.5f, 2700};
    float dx[4];
    const auto close = [&](double bound) {
        for (int i = 0; i != 4; ++i)
            CHECK(std::fabs(dx[i] - expected[i]) <= bound * std::max(1.0f, std::fabs(expected[i])));
    };
    kernel::activation_gradient<zp::default_architecture, cube>(x, dy, 4, 0, dx);
    close(1e-6);
    kernel::activation_gradient<zp::default_architecture, float_cube>(x, dy, 4, 0, dx);
    close(1e-3);
    kernel::activation_gradient<zp::default_architecture, own_cube>(x, dy, 4, 0, dx);
    close(0);
}
