// SPDX-License-Identifier: BSD-3-Clause
// The exact histogram: where values fall, against floor(x / width), whatever order they came in.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "every_observer.hpp"

namespace {

using histogram = zp::exact_histogram<64>;

histogram of(const std::vector<float>& values) {
    histogram h;
    h.add<zp::default_architecture>(values, zp::range_of<zp::default_architecture>(batch(values)));
    return h;
}

/// Every value in the bin whose edges enclose it, and none elsewhere.
bool counts_right(const histogram& h, const std::vector<float>& values) {
    std::vector<std::uint64_t> counts(h.counts().size());
    for (const float x : values) {
        const double bin = std::floor(x / h.bin_width()) - h.edge(0) / h.bin_width();
        if (bin < 0 || bin >= static_cast<double>(counts.size())) return false;
        ++counts[static_cast<std::size_t>(bin)];
    }
    return std::equal(counts.begin(), counts.end(), h.counts().begin());
}

}  // namespace

TEST_CASE("exact_histogram: bins of a power of two from zero on, the narrowest that fit") {
    const auto h = of({0.1f, 1, 2, 3.9f});
    CHECK(h.bin_width() == 0.0625);  // 3.9 / 64 = 0.061
    CHECK(h.edge(0) == 0);
    CHECK(h.counts().size() == 63);
    CHECK(h.counts()[1] == 1);
    CHECK(h.counts()[16] == 1);
    const auto both = of({-1, 3});
    CHECK(both.bin_width() == 0.125);  // with 0.0625 there are 65 bins
    CHECK(both.edge(0) == -1);
    CHECK(of({100, 101}).edge(0) == 0);
    CHECK(of({-5, -4}).edge(of({-5, -4}).counts().size()) > 0);  // the bin of zero is there
}

TEST_CASE("exact_histogram: every value lies in its bin, for data of every size") {
    std::mt19937 random(12);
    for (int i = 0; i != 300; ++i) {
        std::vector<float> values = heavy_tails(1 + random() % 50, static_cast<unsigned>(random()));
        const float size = std::exp2(static_cast<float>(random() % 250) - 135);  // down to subnormal values
        for (float& x : values) x = i % 4 == 0 ? std::fabs(x * size) : i % 4 == 1 ? -std::fabs(x * size) : x * size;
        if (i % 7 == 0) values.push_back(0);
        if (i % 11 == 0) values.push_back(-0.0f);
        const histogram h = of(values);
        REQUIRE(counts_right(h, values));
        REQUIRE(h.counts().size() <= 64);
        REQUIRE(h.counts().size() + (h.range().max > 0 && h.range().min < 0 ? 2u : 1u) > 32);
    }
    const histogram zeros = of({0, -0.0f, 0});
    CHECK(zeros.counts().size() == 1);
    CHECK(zeros.counts()[0] == 3);
    CHECK(of({3.4e38f, -3.4e38f}).counts().size() <= 64);
}

TEST_CASE("exact_histogram: order, batches and merging do not matter") {
    std::mt19937 random(13);
    for (int i = 0; i != 100; ++i) {
        std::vector<float> values = heavy_tails(200, static_cast<unsigned>(random()));
        for (std::size_t k = 0; k != values.size(); ++k)
            values[k] *= std::exp2(static_cast<float>(k % 40) - (i % 3 == 0 ? 140 : 20));
        const histogram whole = of(values);
        histogram one_by_one, backwards;
        for (std::size_t k = 0; k != values.size(); ++k) {
            one_by_one.merge(of({values[k]}));
            const float x = values[values.size() - 1 - k];
            backwards.add<zp::default_architecture>({&x, 1}, {x, x});
        }
        REQUIRE(one_by_one == whole);
        REQUIRE(backwards == whole);
        histogram same = whole;
        same.merge(histogram{});
        REQUIRE(same == whole);
    }
}

TEST_CASE("exact_histogram: counts below a value and quantiles, spread evenly within a bin") {
    std::vector<float> values(64);
    std::iota(values.begin(), values.end(), 0.0f);  // one in each bin of width 1
    const auto h = of(values);
    REQUIRE(h.bin_width() == 1);
    CHECK(h.count_below(-1) == 0);
    CHECK(h.count_below(0) == 0);
    CHECK(h.count_below(10) == 10);
    CHECK(h.count_below(10.25) == 10.25);
    CHECK(h.count_below(1000) == 64);
    CHECK(h.quantile(0) == 0);
    CHECK(h.quantile(10) == 10);
    CHECK(h.quantile(64) == 63);  // never beyond what was seen
    CHECK(of({-2, -1, 0, 1}).quantile(0) == -2);
    CHECK(of({-2, -1, 0, 1}).quantile(4) == 1);
}
