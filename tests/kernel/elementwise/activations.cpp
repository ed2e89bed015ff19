// SPDX-License-Identifier: BSD-3-Clause
// Activations on floats, on every architecture, and on doubles, against the C++ library's functions in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ratio>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/activations.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
namespace functions = zp::kernel::functions;

const std::vector<float> special_values{0.0f,  -0.0f, 1e-30f, -1e-30f, 1e-6f, 100.0f, -100.0f, 3.0f,
                                        -3.0f, 6.0f,  88.0f,  -88.0f,  1e4f,  -1e4f,  0.625f,  -0.624f};

using reference = double (*)(double);

/// Runs `function` on many lengths, apart and in place, and compares with `exact` in double.
template <class Function>
void compare(Function function, reference exact, double relative, double absolute = 1e-37, float low = -1e4f,
             float high = 1e4f) {
    const auto close = [&](double y, double expected, double unit) {
        return std::abs(y - expected) <= unit * (relative * std::abs(expected) + absolute);
    };
    arrays::for_each_architecture([&]<class Arch>() {
        for (const std::size_t count : {0u, 1u, 2u, 7u, 17u, 64u, 131u}) {
            std::vector<float> x = arrays::reals(count, count, -9.0f, 9.0f);
            if (count > 16) std::copy(special_values.begin(), special_values.end(), x.begin() + 1);
            for (float& value : x) value = std::clamp(value, low, high);
            std::vector<float> y(count), in_place = x;
            kernel::map_floats<Arch>(x.data(), count, y.data(), function);
            kernel::map_floats<Arch>(in_place.data(), count, in_place.data(), function);
            CHECK(arrays::same_bits(y, in_place));
            for (std::size_t i = 0; i != count; ++i) {
                CAPTURE(x[i]);
                CHECK(close(double{y[i]}, exact(double{x[i]}), 1));
            }
            if (count > 40) {  // a result depends on the value alone, not on its place
                std::vector<float> one(1);
                kernel::map_floats<Arch>(x.data() + 20, 1, one.data(), function);
                CHECK(one[0] == y[20]);
            }
        }
    });
    if constexpr (requires { function(0.5); })
        for (double x = -7.3; x < 8; x += 0.171) {
            const double bounded = std::clamp(x, double{low}, double{high});
            CHECK(close(function(bounded), exact(bounded), 1e-7));
        }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }
double elu(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }

}  // namespace

TEST_CASE("activations: sigmoid, tanh and what is made of them") {
    compare(functions::sigmoid{}, sigmoid, 1e-6);
    compare(
        functions::tanh{}, [](double x) { return std::tanh(x); }, 1e-6);
    compare(
        functions::silu{}, [](double x) { return x * sigmoid(x); }, 2e-6);
    // 1 + erf and 1 + tanh cancel: what is lost is lost of x.
    compare(
        functions::gelu{}, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, 2e-6, 3e-6);
    compare(
        functions::gelu_tanh{},
        [](double x) {
            return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
        },
        2e-6, 3e-6);
}

TEST_CASE("activations: exponentials") {
    compare(
        functions::exp{}, [](double x) { return std::exp(x); }, 2e-6, 1e-37, -80, 80);
    compare(functions::softplus<1000, 20000>{}, softplus, 2e-6);
    compare(
        functions::softplus<2500, 5000>{},
        [](double x) { return x * 2.5 > 5 ? x : std::log1p(std::exp(x * 2.5)) / 2.5; }, 2e-6);
    compare(
        functions::mish{}, [](double x) { return x * std::tanh(softplus(x)); }, 4e-6, 1e-36);
    compare(
        functions::elu<1000>{}, [](double x) { return elu(x, 1); }, 2e-6);
    compare(
        functions::elu<-300>{}, [](double x) { return elu(x, -0.3); }, 2e-6);
    compare(
        functions::celu<1500>{}, [](double x) { return x > 0 ? x : 1.5 * std::expm1(x / 1.5); }, 2e-6);
    compare(
        functions::selu{}, [](double x) { return 1.0507009873554804934 * elu(x, 1.6732632423543772848); }, 2e-6);
}

TEST_CASE("activations: pieces of lines and powers") {
    const auto leaky = [](const auto& x) { return functions::leaky_relu{}(x, 0.01f); };
    compare(
        leaky, [](double x) { return x > 0 ? x : x * double{0.01f}; }, 1e-7);
    compare(
        functions::hardswish{}, [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }, 2e-6);
    compare(
        functions::hard_sigmoid{}, [](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }, 2e-6);
    compare(
        functions::add_scalar<std::ratio<-7, 4>>{}, [](double x) { return x - 1.75; }, 1e-7);
    compare(
        functions::threshold<625, -2000>{}, [](double x) { return x > 0.625 ? x : -2; }, 1e-7);
    compare(
        functions::softsign{}, [](double x) { return x / (1 + std::abs(x)); }, 1e-6);
    compare(
        functions::abs{}, [](double x) { return std::abs(x); }, 0);
    compare(
        functions::neg{}, [](double x) { return -x; }, 0);
    compare(
        functions::square{}, [](double x) { return x * x; }, 1e-7);
    compare(
        functions::log{}, [](double x) { return std::log(x); }, 1e-6, 1e-7, 1e-3f);
    compare(
        functions::sqrt{}, [](double x) { return std::sqrt(x); }, 1e-7, 1e-37, 1e-3f);
    compare(
        functions::rsqrt{}, [](double x) { return 1 / std::sqrt(x); }, 3e-7, 1e-37, 1e-3f);
}
