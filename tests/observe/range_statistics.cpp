// SPDX-License-Identifier: BSD-3-Clause
// What reports tell: channels that do nothing, and how much is clipped.
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/observe/range_statistics.hpp>

#include "every_observer.hpp"

TEST_CASE("range_statistics: counts, ranges, dead and constant channels") {
    zp::range_statistics statistics;
    CHECK(statistics.samples() == 0);
    CHECK(statistics.range().empty());
    CHECK(statistics.clipped_share(-1, 1) == 0);

    const std::vector<float> first = {1, 0, 5, -1, 2, -0.0f, 5, -1}, second = {-3, 0, 5, -1};
    statistics.observe({first, 4, 1, "conv1"});
    statistics.observe({second, 4, 1, "conv1"});
    CHECK(statistics.samples() == 2);
    CHECK(statistics.count() == 12);
    CHECK(statistics.min() == -3);
    CHECK(statistics.max() == 5);
    CHECK(statistics.channels() == 4);
    CHECK(statistics.channel(0) == zp::observed_range{-3, 2});
    CHECK(statistics.dead_channels() == std::vector<int>{1});
    CHECK(statistics.constant_channels() == std::vector<int>{2, 3});

    const std::vector<float> revived = {0, 1, 5, -1};
    statistics.observe({revived, 4, 1, "conv1"});
    CHECK(statistics.dead_channels().empty());
}

TEST_CASE("range_statistics: the share of clipped values") {
    std::vector<float> values(1000);
    for (std::size_t i = 0; i != values.size(); ++i) values[i] = static_cast<float>(i) - 500;
    zp::range_statistics statistics;
    statistics.observe(batch(values));
    CHECK(statistics.clipped_share(-500, 499) == 0);
    CHECK(statistics.clipped_share(-1000, 1000) == 0);
    CHECK(statistics.clipped_share(-400, 1000) == relative(0.1, 0.02));
    CHECK(statistics.clipped_share(-1000, 399) == relative(0.1, 0.02));
    CHECK(statistics.clipped_share(-400, 399) == relative(0.2, 0.02));
    // Half a step beyond the outermost codes is rounding, not clipping: codes 0 to 255 reach from -502 to 500.
    CHECK(statistics.clipped_share(zp::qparams{1000.0f / 255, 128}, 0, 255) == 0);
    CHECK(statistics.clipped_share(zp::qparams{500.0f / 255, 128}, 0, 255) == relative(0.5, 0.02));
}

TEST_CASE("range_statistics: a one-sided range clips no zeros") {
    std::vector<float> values(1000, 0.0f);
    values[0] = 8;
    zp::range_statistics statistics;
    statistics.observe(batch(values));
    CHECK(statistics.clipped_share(0, 8) == 0);
    CHECK(statistics.clipped_share(0, 4) == relative(0.001, 0.1));
}

TEST_CASE("range_statistics: merging is exact, and errors leave no trace") {
    const auto values = heavy_tails(600, 22);
    zp::range_statistics whole, a, b;
    whole.observe({values, 3, 1, "conv1"});
    whole.observe({std::span(values).first(300), 3, 1, "conv1"});
    a.observe({std::span(values).first(300), 3, 1, "conv1"});
    b.observe({values, 3, 1, "conv1"});
    a.merge(b);
    CHECK(a.histogram() == whole.histogram());
    CHECK(a.channel(2) == whole.channel(2));
    CHECK(a.clipped_share(-1, 1) == whole.clipped_share(-1, 1));

    std::vector<float> bad = values;
    bad[5] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_AS(a.observe({bad, 3, 1, "conv1"}), zp::calibration_error);
    CHECK_THROWS_AS(a.observe({values, 2, 1, "conv1"}), zp::shape_error);
    CHECK(a.histogram() == whole.histogram());
    CHECK(a.samples() == 2);
}
