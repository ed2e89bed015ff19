// SPDX-License-Identifier: BSD-3-Clause
// Sensitivity sweeps: both ways to run one agree, and a row that is made bad is found.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/analysis/sensitivity.hpp>

#include "inspected_network.hpp"

namespace {
namespace sensitivity_test {

using inspected::net;

}  // namespace sensitivity_test
}  // namespace

TEST_CASE("sensitivity: by a metric and by a stream of inputs, the same figures") {
    using namespace sensitivity_test;
    const auto calibrated = inspected::calibrated<inspected::uneven>();
    const auto inputs = made_up::inputs<net>(8);
    const auto fused = zp::fuse(inspected::trained());
    const auto simulated = zp::simulate(calibrated);
    int calls = 0;
    const auto sqnr = [&](const auto& model) {  // written apart from the library's
        ++calls;
        double signal = 0, noise = 0;
        for (const auto& x : inputs) {
            const auto real = fused(x), y = model(x);
            for (std::size_t k = 0; k != y.size(); ++k) {
                signal += std::pow(double{real[k]}, 2);
                noise += std::pow(double{real[k]} - double{y[k]}, 2);
            }
        }
        return 10 * std::log10(signal / noise);
    };
    std::size_t told = 0;
    const auto by_metric =
        zp::sensitivity(simulated, sqnr, zp::switched::both, [&](std::size_t done, std::size_t) { told = done; });
    const auto by_stream = zp::sensitivity(simulated, inputs);
    std::string names;
    for (const zp::row_sensitivity& one : by_stream.rows) names += one.what.name + " ";
    CHECK(
        names ==
        "input one two add_5 three a a -> concat_10 concat_10 fc ");  // two stays in float, and what it gives is rounded
    const std::size_t count = by_stream.rows.size();
    REQUIRE(by_metric.rows.size() == count);
    CHECK(calls == 2 * static_cast<int>(count) + 2);
    CHECK(told == 2 * count + 2);
    CHECK(std::isinf(by_stream.floats));
    CHECK(by_stream.quantized == doctest::Approx(by_metric.quantized).epsilon(1e-9));
    for (std::size_t r = 0; r != count; ++r) {
        CHECK(by_stream.rows[r].alone == doctest::Approx(by_metric.rows[r].alone).epsilon(1e-9));
        CHECK(by_stream.rows[r].without == doctest::Approx(by_metric.rows[r].without).epsilon(1e-9));
        CHECK(by_stream.rows[r].alone > by_stream.quantized - 1);
    }
    // The layer of three bits is the worst, and without it the network is much better.
    const std::size_t bad = 5;
    CHECK(by_stream.worst()[0].what.name == "a");
    CHECK(by_stream.rows[bad].without > by_stream.quantized + 6);
    CHECK(zp::to_string(by_stream).find("  a  ") < zp::to_string(by_stream).find("  one  "));
    CHECK(zp::to_json(by_stream).find("\"floats\": null") != std::string::npos);

    // Its weights, and not what it gives.
    const auto weights = zp::sensitivity(simulated, inputs, zp::switched::weights);
    const auto values = zp::sensitivity(simulated, inputs, zp::switched::values);
    REQUIRE(weights.rows.size() == 4);  // one, three, a, fc
    CHECK(weights.rows[2].what.name == "a");
    CHECK(weights.rows[2].alone == doctest::Approx(by_stream.rows[bad].alone).epsilon(0.02));
    CHECK(values.rows[bad].alone > by_stream.rows[bad].alone + 10);
}
