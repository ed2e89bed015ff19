#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/float_elementwise.hpp>

#include "arrays.hpp"

namespace {

namespace kernel = zp::kernel;

std::vector<float> special_values() {
    return {0.0f,  -0.0f, 1e-30f, -1e-30f, 1e-6f, 100.0f, -100.0f, 3.0f,
            -3.0f, 6.0f,  88.0f,  -88.0f,  1e4f,  -1e4f,  0.625f,  -0.624f};
}

/// Runs `apply<Arch>(x, count, y)` on every length, apart and in place, and compares with `function` in double.
template <class Apply, class Function> void compare(Apply apply, Function function, double relative) {
    arrays::for_each_architecture([&]<class Arch>() {
        for (std::size_t count = 0; count <= 130; ++count) {
            std::vector<float> x = arrays::reals(count, count, -9.0f, 9.0f);
            if (count > 16) {
                const std::vector<float> special = special_values();
                std::copy(special.begin(), special.end(), x.begin() + 1);
            }
            std::vector<float> y(count), in_place = x;
            apply.template operator()<Arch>(x.data(), count, y.data());
            apply.template operator()<Arch>(in_place.data(), count, in_place.data());
            CHECK(arrays::same_bits(y, in_place));
            for (std::size_t i = 0; i != count; ++i) {
                const double exact = function(double{x[i]});
                CHECK(std::abs(double{y[i]} - exact) <= relative * std::abs(exact) + 1e-37);
            }
            if (count > 40) {  // a result depends on the value alone, not on its place
                std::vector<float> one(1);
                apply.template operator()<Arch>(x.data() + 20, 1, one.data());
                CHECK(one[0] == y[20]);
            }
        }
    });
}

}  // namespace

TEST_CASE("leaky_relu, hardswish, sigmoid and tanh: every length, in place") {
    compare(
        []<class Arch>(const float* x, std::size_t count, float* y) { kernel::leaky_relu<Arch>(x, count, 0.01f, y); },
        [](double x) { return x > 0 ? x : x * double{0.01f}; }, 1e-7);
    compare([]<class Arch>(const float* x, std::size_t count, float* y) { kernel::hardswish<Arch>(x, count, y); },
            [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }, 2e-6);
    compare([]<class Arch>(const float* x, std::size_t count, float* y) { kernel::sigmoid<Arch>(x, count, y); },
            [](double x) { return 1 / (1 + std::exp(-x)); }, 1e-6);
    compare([]<class Arch>(const float* x, std::size_t count, float* y) { kernel::tanh<Arch>(x, count, y); },
            [](double x) { return std::tanh(x); }, 1e-6);
}

TEST_CASE("add_float: with and without a clamp, in place") {
    arrays::for_each_architecture([]<class Arch>() {
        for (std::size_t count = 0; count <= 130; ++count) {
            const std::vector<float> a = arrays::reals(count, 1), b = arrays::reals(count, 2);
            for (const auto& [low, high] :
                 {std::pair{-zp::infinity, zp::infinity}, {0.0f, zp::infinity}, {0.0f, 1.0f}}) {
                std::vector<float> expected(count), y(count), in_place = b;
                for (std::size_t i = 0; i != count; ++i) expected[i] = std::min(std::max(a[i] + b[i], low), high);
                kernel::add_float<Arch>(a.data(), b.data(), count, low, high, y.data());
                kernel::add_float<Arch>(a.data(), in_place.data(), count, low, high, in_place.data());
                CHECK(y == expected);
                CHECK(in_place == expected);
            }
        }
    });
}

TEST_CASE("batch_norm: PyTorch's formula") {
    for (const std::size_t channels : {1u, 3u, 8u, 16u, 19u, 40u}) {
        const std::size_t pixels = 5;
        const std::vector<float> x = arrays::reals(pixels * channels, 1), gamma = arrays::reals(channels, 2),
                                 beta = arrays::reals(channels, 3);
        const std::vector<float> mean = arrays::reals(channels, 4), variance = arrays::reals(channels, 5, 0.01f, 4.0f);
        arrays::for_each_architecture([&]<class Arch>() {
            for (const bool affine : {true, false}) {
                std::vector<float> multiplier(channels), offset(channels), y(x.size());
                kernel::make_batch_norm<Arch>(channels, affine ? gamma.data() : nullptr, affine ? beta.data() : nullptr,
                                              mean.data(), variance.data(), 1e-5f, multiplier.data(), offset.data());
                kernel::batch_norm<Arch>(x.data(), pixels, channels, multiplier.data(), offset.data(), y.data());
                for (std::size_t i = 0; i != x.size(); ++i) {
                    const std::size_t c = i % channels;
                    const double normal = (double{x[i]} - double{mean[c]}) / std::sqrt(double{variance[c]} + 1e-5);
                    const double expected = affine ? normal * double{gamma[c]} + double{beta[c]} : normal;
                    CHECK(double{y[i]} == doctest::Approx(expected).epsilon(1e-4));
                }
            }
        });
    }
}
