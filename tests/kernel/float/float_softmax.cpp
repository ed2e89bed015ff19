// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/float/float_softmax.hpp>

#include "../../support/arrays.hpp"

namespace kernel = zp::kernel;

TEST_CASE("softmax and log_softmax of floats: within 1e-6 of the logarithm in double, every length, in place") {
    for (std::size_t channels = 1; channels <= 200; ++channels) {
        const std::size_t rows = 1 + channels % 3;
        const auto x = arrays::reals(rows * channels, channels, -20.0f, 90.0f);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(x.size()), z = x;
            kernel::softmax<Arch>(x.data(), rows, channels, y.data());
            kernel::log_softmax<Arch>(z.data(), rows, channels, z.data());
            for (std::size_t row = 0; row != rows; ++row) {
                const float* from = x.data() + row * channels;
                const double largest = double{*std::max_element(from, from + channels)};
                double sum = 0;
                for (std::size_t i = 0; i != channels; ++i) sum += std::exp(double{from[i]} - largest);
                for (std::size_t i = 0; i != channels; ++i) {
                    const double logarithm = double{from[i]} - largest - std::log(sum);
                    CHECK(std::abs(double{z[row * channels + i]} - logarithm) <= 1e-6 * (1 - logarithm));
                    CHECK(std::abs(double{y[row * channels + i]} - std::exp(logarithm)) <=
                          1e-6 * (1 - logarithm) * std::exp(logarithm) + 1e-37);
                }
            }
            std::vector<float> in_place = x;
            kernel::softmax<Arch>(in_place.data(), rows, channels, in_place.data());
            CHECK(arrays::same_bits(in_place, y));
        });
    }
}
