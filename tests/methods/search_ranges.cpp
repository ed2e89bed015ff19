// SPDX-License-Identifier: BSD-3-Clause
// Ranges by what they do to outputs: never below min_max nor the observer, with rare outliers and without.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <zeropoint/methods/search_ranges.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/histogram_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/linear.hpp>

#include "../support/made_up.hpp"

namespace {

struct net
    : zp::model<zp::input<1, 1, 16>, zp::linear<"a", 24>, zp::relu, zp::linear<"b", 24>, zp::relu, zp::linear<"c", 8>> {
};
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::histogram_observer<>>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::min_max_observer>> {};

/// Mean SQNR over other inputs, without outliers.
template <class Model> double quality_of(const Model& model) {
    const auto fused = zp::fuse(made_up::network<net>(2));
    double sum = 0;
    const auto inputs = made_up::inputs<net>(64, 77);
    for (const auto& x : inputs) {
        const auto y = model(x), wanted = fused(x);
        double signal = 0, noise = 0;
        for (std::size_t i = 0; i != y.size(); ++i) {
            signal += double{wanted[i]} * double{wanted[i]};
            noise += std::pow(double{y[i]} - double{wanted[i]}, 2);
        }
        sum += 10 * std::log10(signal / noise);
    }
    return sum / static_cast<double>(inputs.size());
}
/// 256 inputs, of which some are 10 times as large.
std::vector<std::vector<float>> inputs_with_outliers(std::size_t outliers) {
    auto all = made_up::inputs<net>(256);
    for (std::size_t i = 0; i != outliers; ++i)
        for (float& value : all[i * 101 + 7]) value *= 10;
    return all;
}

}  // namespace

TEST_CASE("search_ranges: at least what min_max and the observer give, much more where outliers are rare") {
    for (const std::size_t outliers : {0u, 2u}) {
        const auto data = inputs_with_outliers(outliers);
        const auto calibrated = zp::calibrate(zp::prepare<config>(made_up::network<net>(2)), data);
        zp::range_search report;
        const auto searched = zp::search_ranges(calibrated, data, {}, &report);
        CHECK(report.after >= report.by_observers);
        CHECK(report.after >= report.by_min_max);
        auto by_min_max = calibrated;
        for (int id = 0; id != 4; ++id) {
            zp::observed_range seen;
            by_min_max.given().give_range(id, *zp::detail::part_of_seen(calibrated, id, 1, seen));
        }
        const double own = quality_of(zp::convert(calibrated)), wide = quality_of(zp::convert(by_min_max)),
                     found = quality_of(zp::convert(searched));
        INFO(outliers << " outliers: histogram " << own << " dB, min_max " << wide << ", searched " << found);
        CHECK(found > own - 0.5);
        CHECK(found > wide - 0.5);
        if (outliers != 0) {
            CHECK(found > wide + 8);
            CHECK(!report.changed.empty());
        }
    }
    const auto data = made_up::inputs<net>(8);
    const auto calibrated = zp::calibrate(zp::prepare<config>(made_up::network<net>(2)), data);
    CHECK_THROWS_WITH_AS(zp::search_ranges(calibrated, data, {.parts = {2.0f}}), doctest::Contains("at most 1"),
                         zp::value_error);
}
