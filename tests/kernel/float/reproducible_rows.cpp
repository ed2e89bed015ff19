// SPDX-License-Identifier: BSD-3-Clause
// Softmax and sums of rows: near the formulas in double, the same bits on every architecture.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/float/reproducible_rows.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

std::size_t length_of(arrays::generator& next) { return static_cast<std::size_t>(next.integer(1, 100)); }

/// x[i] = exp(x[i] - max(x)) / sum of those, in place.
template <class Arch> void softmax_row(float* x, std::size_t count) {
    const float sum = kernel::exponentials_row<Arch>(x, count, kernel::largest_of_row<Arch>(x, count));
    for (std::size_t i = 0; i != count; ++i) x[i] /= sum;
}

}  // namespace

TEST_CASE("float_rows: softmax") {
    arrays::generator next(6);
    for (int problem = 0; problem != zp_test::fewer(500); ++problem) {
        const std::size_t count = length_of(next);
        const auto seed = static_cast<std::uint64_t>(problem);
        const float size = next.real(0.01f, 30.0f);
        const auto x = arrays::reals(count, seed, -size, size);
        std::vector<double> softmax;
        double sum = 0, largest = -1e30;
        for (const float value : x) largest = std::max(largest, double{value});
        for (const float value : x) sum += std::exp(double{value} - largest);
        for (const float value : x) softmax.push_back(std::exp(double{value} - largest) / sum);
        CAPTURE(problem);
        std::vector<float> first_softmax;
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y = x;
            softmax_row<Arch>(y.data(), count);
            for (std::size_t i = 0; i != count; ++i)
                CHECK(std::abs(double{y[i]} - softmax[i]) <= 4e-6 * softmax[i] + 1e-30);
            if (first_softmax.empty()) first_softmax = y;
            CHECK(y == first_softmax);
        });
    }
}

TEST_CASE("float_rows: what is not finite becomes NaN") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    arrays::for_each_architecture([&]<class Arch>() {
        for (const float bad : {nan, zp::infinity}) {
            auto x = arrays::reals(37, 3);
            x[20] = bad;
            auto y = x;
            softmax_row<Arch>(x.data(), x.size());
            for (const float value : x) CHECK(std::isnan(value));
            const float largest = kernel::largest_of_row<Arch>(y.data(), y.size());
            CHECK((largest == zp::infinity) == !std::isnan(bad));
            CHECK(std::isnan(kernel::exponentials_row<Arch>(y.data(), y.size(), largest)));
        }
        std::vector<float> hidden = {-zp::infinity, 1.0f, 1.0f};
        softmax_row<Arch>(hidden.data(), hidden.size());
        CHECK(hidden == std::vector<float>{0.0f, 0.5f, 0.5f});
    });
}

TEST_CASE("float_rows: a sum depends on no vector width") {
    arrays::generator next(8);
    for (int problem = 0; problem != zp_test::fewer(500); ++problem) {
        const std::size_t count = length_of(next);
        const auto x = arrays::reals(count, static_cast<std::uint64_t>(problem));
        std::vector<float> partial(16);
        for (std::size_t i = 0; i != count; ++i) partial[i % 16] += x[i];
        for (std::size_t half = 8; half != 0; half /= 2)
            for (std::size_t j = 0; j != half; ++j) partial[j] += partial[j + half];
        arrays::for_each_architecture([&]<class Arch>() {
            CHECK(kernel::ordered_sum<Arch>(count, [&](std::size_t i, auto number) {
                      return kernel::load_number<decltype(number)>(x.data() + i);
                  }) == partial[0]);
        });
    }
}
