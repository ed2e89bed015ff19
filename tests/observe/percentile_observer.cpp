// SPDX-License-Identifier: BSD-3-Clause
// Percentiles, against sorted data.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "every_observer.hpp"

namespace {

template <int Kept, int Of> void check_share(std::size_t count, std::size_t cut) {
    std::vector<float> values = heavy_tails(count, 15);
    for (float& x : values) x = std::atan(x);
    zp::percentile_observer<Kept, Of> observer;
    observer.observe(batch(values));
    std::sort(values.begin(), values.end());
    const float bin = 2.0f / 512;  // of 2048 over [-pi/2, pi/2]
    const zp::observed_range kept = observer.kept_range();
    CHECK(kept.min >= values[cut - 1] - bin);
    CHECK(kept.min <= values[cut] + bin);
    CHECK(kept.max >= values[count - cut - 1] - bin);
    CHECK(kept.max <= values[count - cut] + bin);
}

}  // namespace

TEST_CASE("percentile_observer: cuts half of the rest at each end, to a bin") {
    check_share<98, 100>(10000, 100);
    check_share<9999, 10000>(40000, 2);
    check_share<1, 2>(1000, 250);
}

TEST_CASE("percentile_observer: what is not a whole value stays, and 100 % is everything") {
    zp::percentile_observer<> rare;
    zp::percentile_observer<1, 1> all;
    const auto values = heavy_tails(1000, 16);  // 1000 * 0.001 % is less than one
    rare.observe(batch(values));
    all.observe(batch(values));
    CHECK(rare.kept_range() == rare.range());
    CHECK(all.kept_range() == all.range());
    zp::min_max_observer min_max;
    min_max.observe(batch(values));
    CHECK(affine(all) == affine(min_max));
}
