// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/float/float_elementwise.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

}  // namespace

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
