// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/clamp.hpp>

#include "../../support/arrays.hpp"

namespace {

template <class T> void compare(const std::vector<T>& x, T low, T high) {
    std::vector<T> expected(x.size());
    for (std::size_t i = 0; i != x.size(); ++i) expected[i] = std::clamp(x[i], low, high);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(x.size()), in_place = x;
        zp::kernel::clamp<Arch>(x.data(), x.size(), low, high, y.data());
        zp::kernel::clamp<Arch>(in_place.data(), x.size(), low, high, in_place.data());
        CHECK(y == expected);
        CHECK(in_place == expected);
    });
}

}  // namespace

TEST_CASE("clamp: random bounds") {
    arrays::generator next(1);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const auto count = static_cast<std::size_t>(next.integer(1, 200));
        const int low = next.integer(-128, 127), high = next.integer(low, 127);
        compare<std::int8_t>(arrays::codes<std::int8_t>(count, next()), static_cast<std::int8_t>(low),
                             static_cast<std::int8_t>(high));
        compare<std::uint8_t>(arrays::codes<std::uint8_t>(count, next()), static_cast<std::uint8_t>(low + 128),
                              static_cast<std::uint8_t>(high + 128));
    }
}

TEST_CASE("clamp: codes and floats of every length") {
    for (std::size_t count = 0; count <= 130; ++count) {
        compare<std::uint8_t>(arrays::codes<std::uint8_t>(count, count), 128, 255);
        compare<std::uint8_t>(arrays::codes<std::uint8_t>(count, count), 3, 250);
        compare<std::int8_t>(arrays::codes<std::int8_t>(count, count), -128, 127);
        compare<std::int8_t>(arrays::codes<std::int8_t>(count, count), -3, 100);
        compare<float>(arrays::reals(count, count), -1.0f, 2.0f);
    }
}
