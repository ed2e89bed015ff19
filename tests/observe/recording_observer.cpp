// SPDX-License-Identifier: BSD-3-Clause
// The recorder: what it keeps, and that it stops.
#include <vector>

#include <doctest/doctest.h>

#include "every_observer.hpp"

TEST_CASE("recording_observer: keeps the first values in order, counts the others, and sees their range") {
    zp::recording_observer<5> observer;
    const std::vector<float> first = {1, 2, 3}, second = {4, 5, -6, 70};
    observer.observe(batch(first));
    CHECK(observer.dropped() == 0);
    observer.observe(batch(second));
    CHECK(std::vector<float>(observer.values().begin(), observer.values().end()) == std::vector<float>{1, 2, 3, 4, 5});
    CHECK(observer.dropped() == 2);
    CHECK(observer.count() == 7);
    CHECK(observer.range() == zp::observed_range{-6, 70});
    zp::min_max_observer min_max;
    min_max.observe(batch(second));
    CHECK(affine(observer) == affine(min_max));
}

TEST_CASE("recording_observer: merging appends up to the bound") {
    zp::recording_observer<4> a, b;
    const std::vector<float> first = {1, 2}, second = {3, 4, 5};
    a.observe(batch(first));
    b.observe(batch(second));
    a.merge(b);
    CHECK(std::vector<float>(a.values().begin(), a.values().end()) == std::vector<float>{1, 2, 3, 4});
    CHECK(a.dropped() == 1);
    CHECK(a.samples() == 2);
}
