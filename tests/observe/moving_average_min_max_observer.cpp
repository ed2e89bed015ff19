// SPDX-License-Identifier: BSD-3-Clause
// Moving averages: the recurrence, in float.
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "every_observer.hpp"

TEST_CASE("moving average: the first batch sets it, later ones pull") {
    zp::moving_average_min_max_observer<1, 4> observer;
    const std::vector<float> first = {-8, 16}, second = {0, 0};
    observer.observe(batch(first));
    CHECK(observer.range() == zp::observed_range{-8, 16});
    observer.observe(batch(second));
    CHECK(observer.range() == zp::observed_range{-6, 12});
    observer.observe(batch(second));
    CHECK(observer.range() == zp::observed_range{-4.5f, 9});
}

TEST_CASE("moving average: a constant of 1 forgets everything before") {
    zp::moving_average_min_max_observer<1, 1> observer;
    const std::vector<float> first = {-8, 16}, second = {-1, 3};
    observer.observe(batch(first));
    observer.observe(batch(second));
    CHECK(observer.range() == zp::observed_range{-1, 3});
}

TEST_CASE("moving average: what remains of the start is (1 - c)^n") {
    CHECK(zp::remaining_weight(0.25, 0) == 1);
    CHECK(zp::remaining_weight(0.25, 1) == 0.75f);
    CHECK(zp::remaining_weight(0.5, 10) == 0x1p-10f);
    CHECK(zp::remaining_weight(0.01, 1000) == relative(std::pow(0.99, 1000), 1e-6));
    CHECK(zp::remaining_weight(1, 3) == 0);
}
