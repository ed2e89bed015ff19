// SPDX-License-Identifier: BSD-3-Clause
// The two histogram observers: how they clip, and that they nearly agree. PyTorch's numbers: pytorch_parity.cpp.
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "every_observer.hpp"

namespace {

/// Normal values and a few far outside: clipping to the bulk pays.
std::vector<float> with_outliers() {
    std::mt19937 random(14);
    std::normal_distribution<float> normal;
    std::vector<float> values(200000);
    for (float& x : values) x = normal(random);
    values[7] = 12;
    values[8] = -11;
    return values;
}

}  // namespace

TEST_CASE("cascade_sum: the sum, for every size") {
    for (std::size_t size = 0; size != 700; ++size) {
        std::vector<float> values(size);
        std::iota(values.begin(), values.end(), 1.0f);
        REQUIRE(zp::cascade_sum(values) == static_cast<float>(size * (size + 1) / 2));
    }
    // In order, 2^24 + 1 + 1 + ... would stay 2^24.
    std::vector<float> values(2048, 1.0f);
    values[0] = 0x1p24f;
    CHECK(zp::cascade_sum(values) > 0x1p24f + 1900);
}

TEST_CASE_TEMPLATE("histogram observers: outliers are clipped, all of a fixed range is kept", O,
                   zp::histogram_observer<>, zp::exact_histogram_observer<>) {
    const auto values = with_outliers();
    O clipping, keeping;
    clipping.observe(batch(values));
    CHECK(clipping.range() == zp::observed_range{-11, 12});
    CHECK(affine(clipping).scale < 0.75f * 23 / 255);
    CHECK(affine(clipping).scale > 0.3f * 23 / 255);

    std::vector<float> uniform(10000);
    for (std::size_t i = 0; i != uniform.size(); ++i) uniform[i] = static_cast<float>(i % 1000) / 999;
    keeping.observe(batch(uniform));
    CHECK(affine(keeping).scale == relative(1.0 / 255, 0.01));
}

TEST_CASE("exact_histogram_observer: nearly the range of histogram_observer") {
    for (unsigned seed = 0; seed != 5; ++seed) {
        const auto values = heavy_tails(20000, seed);
        zp::histogram_observer<> pytorch;
        zp::exact_histogram_observer<> exact;
        pytorch.observe(batch(values));
        exact.observe(batch(values));
        CHECK(affine(exact).scale == relative(affine(pytorch).scale, 0.1));
        CHECK(symmetric(exact).scale == relative(symmetric(pytorch).scale, 0.1));
    }
}

TEST_CASE("histogram_observer: fewer bins, other dtypes") {
    zp::histogram_observer<64> observer;
    const auto values = with_outliers();
    observer.observe(batch(values));
    CHECK(observer.counts().size() == 64);
    CHECK(std::accumulate(observer.counts().begin(), observer.counts().end(), 0.0) == 200000);
    // Fewer codes make clipping pay more.
    const float eight = observer.calculate_qparams<zp::qint8, zp::per_tensor_symmetric>("conv1").front().scale * 127.5f;
    const float four = observer.calculate_qparams<zp::qint4, zp::per_tensor_symmetric>("conv1").front().scale * 7.5f;
    CHECK(four < eight);
    static_assert(zp::search_levels<zp::quint8_reduced> == 256 && zp::search_levels<zp::qint4> == 16 &&
                  zp::search_levels<zp::qint16> == 65536);
}

TEST_CASE_TEMPLATE(
    "histogram observers: values a power of two times as large have that range, where cubes overflow or vanish too", O,
    zp::histogram_observer<>, zp::exact_histogram_observer<>) {
    const auto values = with_outliers();
    const auto scale_of = [&](float unit) {
        std::vector<float> scaled;
        for (const float x : values) scaled.push_back(x * unit);
        O observer;
        observer.observe({.values = scaled, .where = "layer"});
        return observer.template calculate_qparams<zp::quint8, zp::per_tensor_affine>("layer")[0];
    };
    const zp::qparams one = scale_of(1);
    for (const float unit : {0x1p-12f, 0x1p40f, 0x1p60f, 0x1p100f}) {
        const zp::qparams found = scale_of(unit);
        CHECK(found.scale == one.scale * unit);
        CHECK(found.zero_point == one.zero_point);
    }
}
