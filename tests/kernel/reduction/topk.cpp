// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/topk.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

/// Whole sorted rows, and their first k values.
template <class T> void check(const std::vector<T>& x, std::size_t channels, std::size_t k) {
    std::vector<T> largest, smallest;
    for (auto row = x.begin(); row != x.end(); row += static_cast<std::ptrdiff_t>(channels)) {
        std::vector<T> sorted(row, row + static_cast<std::ptrdiff_t>(channels));
        std::sort(sorted.begin(), sorted.end());
        smallest.insert(smallest.end(), sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k));
        largest.insert(largest.end(), sorted.rbegin(), sorted.rbegin() + static_cast<std::ptrdiff_t>(k));
    }
    std::vector<T> y(largest.size());
    kernel::topk<zp::default_architecture, true>(x.data(), x.size() / channels, channels, k, y.data());
    CHECK(y == largest);
    kernel::topk<zp::default_architecture, false>(x.data(), x.size() / channels, channels, k, y.data());
    CHECK(y == smallest);
}

}  // namespace

TEST_CASE("topk: random problems") {
    zp_test::generator next(97);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const auto channels = static_cast<std::size_t>(next.integer(1, next.integer(0, 2) == 0 ? 600 : 140));
        const auto k =
            static_cast<std::size_t>(next.integer(0, 2) == 0 ? int(channels) : next.integer(1, int(channels)));
        check(arrays::codes<std::uint8_t>(3 * channels, next()), channels, k);
        check(arrays::codes<std::int8_t>(3 * channels, next()), channels, k);
        check(arrays::reals(3 * channels, next()), channels, k);
    }
}

TEST_CASE("topk: a NaN is the largest") {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x = {1, nan, infinity, -2, nan};
    std::vector<float> y(5);
    kernel::topk<zp::default_architecture, true>(x.data(), 1, 5, 5, y.data());
    CHECK((std::isnan(y[0]) && std::isnan(y[1])));
    CHECK(std::vector<float>(y.begin() + 2, y.end()) == std::vector<float>{infinity, 1, -2});
    kernel::topk<zp::default_architecture, false>(x.data(), 1, 5, 5, y.data());
    CHECK((std::isnan(y[3]) && std::isnan(y[4])));
    CHECK(std::vector<float>(y.begin(), y.begin() + 3) == std::vector<float>{-2, 1, infinity});
}
