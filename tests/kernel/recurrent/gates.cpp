// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/recurrent/gates.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Values of all sizes, both signs.
std::vector<float> arguments() {
    std::vector<float> x = {0.0f, -0.0f, 9.0f, -9.0f, 100.0f, -100.0f, 1e-30f, -1e-6f, 8.999f, 3e38f};
    for (const float size : {1e-3f, 0.5f, 3.0f, 12.0f}) {
        const auto more = arrays::reals(500, 3, -size, size);
        x.insert(x.end(), more.begin(), more.end());
    }
    return x;
}

}  // namespace

TEST_CASE("gates: tanh and sigmoid are near the real functions, and bounded") {
    for (const float x : arguments()) {
        const double tanh_of_x = std::tanh(double{x}), y = double{kernel::bounded_tanh(x)};
        CHECK(std::abs(y - tanh_of_x) <= 4e-7 * std::abs(tanh_of_x));
        CHECK(std::abs(y) <= 1);
        CHECK(kernel::bounded_tanh(-x) == -kernel::bounded_tanh(x));
        CHECK(std::abs(double{kernel::bounded_sigmoid(x)} - sigmoid(double{x})) <= 3e-7);
    }
    CHECK(kernel::bounded_tanh(zp::infinity) == kernel::bounded_tanh(9.0f));
    CHECK(kernel::bounded_sigmoid(-zp::infinity) >= 0);
    CHECK(std::isnan(kernel::bounded_tanh(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("gates: vectors have the bits of scalars") {
    auto x = arguments();
    x.push_back(std::numeric_limits<float>::quiet_NaN());
    x.resize(2000);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<float> scalar(x.size()), vector(x.size());
        for (std::size_t i = 0; i != x.size(); ++i)
            scalar[i] = kernel::bounded_sigmoid(x[i]) * kernel::bounded_tanh(x[i]);
        kernel::for_each_number<Arch>(x.size(), [&](std::size_t i, auto number) {
            const auto value = kernel::load_number<decltype(number)>(x.data() + i);
            kernel::store_number(kernel::bounded_sigmoid(value) * kernel::bounded_tanh(value), vector.data() + i);
        });
        for (std::size_t i = 0; i != x.size(); ++i)
            CHECK((scalar[i] == vector[i] || (std::isnan(scalar[i]) && std::isnan(vector[i]))));
    });
}

TEST_CASE("gates: one step of an LSTM and of a GRU cell, on every architecture the same") {
    for (const std::size_t count : {1u, 7u, 8u, 33u, 64u, 150u}) {
        const auto a = arrays::reals(4 * count, 1), b = arrays::reals(4 * count, 2);
        const auto c_before = arrays::reals(count, 3), h_before = arrays::reals(count, 4, -1, 1);
        std::vector<float> c_first = c_before, h_first(count), gru_first = h_before;
        kernel::lstm_gates<zp::portable>(a.data(), b.data(), count, c_first.data(), h_first.data());
        kernel::gru_gates<zp::portable>(a.data(), b.data(), count, gru_first.data());
        for (std::size_t i = 0; i != count; ++i) {
            const auto x = [&](std::size_t gate) { return double{a[gate * count + i]}; };
            const auto s = [&](std::size_t gate) { return double{b[gate * count + i]}; };
            const double c = sigmoid(x(1) + s(1)) * double{c_before[i]} + sigmoid(x(0) + s(0)) * std::tanh(x(2) + s(2));
            CHECK(double{c_first[i]} == doctest::Approx(c).epsilon(3e-6));
            CHECK(double{h_first[i]} == doctest::Approx(sigmoid(x(3) + s(3)) * std::tanh(c)).epsilon(3e-6));
            const double z = sigmoid(x(1) + s(1)), n = std::tanh(x(2) + sigmoid(x(0) + s(0)) * s(2));
            CHECK(double{gru_first[i]} == doctest::Approx((1 - z) * n + z * double{h_before[i]}).epsilon(3e-6));
        }
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> c_next = c_before, h_next(count), gru_next = h_before;
            kernel::lstm_gates<Arch>(a.data(), b.data(), count, c_next.data(), h_next.data());
            kernel::gru_gates<Arch>(a.data(), b.data(), count, gru_next.data());
            CHECK(arrays::same_bits(c_next, c_first));
            CHECK(arrays::same_bits(h_next, h_first));
            CHECK(arrays::same_bits(gru_next, gru_first));
        });
    }
}
