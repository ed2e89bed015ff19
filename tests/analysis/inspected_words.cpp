// SPDX-License-Identifier: BSD-3-Clause
// Inspection of a network of indices with operators that round inside: a table, a norm, attention, a recurrent layer, a mean.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/analysis/compare.hpp>
#include <zeropoint/analysis/sensitivity.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"

namespace {
namespace words_test {

struct net : zp::model<zp::indices<8>, zp::embedding<"words", 20, 16>, zp::layer_norm<"norm">,
                       zp::self_attention<"attention", 2>, zp::gru<"gru", 12>, zp::mean<zp::axes::width>,
                       zp::linear<"classes", 5>> {};

std::vector<std::vector<std::int32_t>> sentences(std::size_t count) {
    zp_test::generator next(3);
    std::vector<std::vector<std::int32_t>> all(count, std::vector<std::int32_t>(8));
    for (auto& one : all)
        for (std::int32_t& word : one) word = next.integer(0, 19);
    return all;
}

}  // namespace words_test
}  // namespace

TEST_CASE("inspection: indices, a table, attention and a recurrent layer") {
    using namespace words_test;
    const auto inputs = sentences(40);
    const auto calibrated = zp::calibrate(zp::prepare<zp::default_qconfig>(made_up::network<net>(1)), inputs);
    const auto int8 = zp::convert(calibrated);
    const zp::comparison whole = zp::compare(calibrated, int8, inputs);
    const zp::comparison alone = zp::compare(calibrated, int8, inputs, zp::comparison_mode::each_row);
    const zp::comparison shadow = zp::compare(calibrated, int8, inputs, zp::comparison_mode::shadow);
    MESSAGE(zp::to_string(whole) << zp::to_string(alone) << zp::to_string(shadow));
    REQUIRE(whole.find("words") != nullptr);
    CHECK(whole.find("words")->weights.at(0).channels.size() == 20);
    CHECK(alone.find("words")->sqnr() == whole.find("words")->sqnr());
    CHECK(whole.find("gru")->weights.size() >= 2);
    for (const zp::row_comparison& row : alone.rows) {
        CAPTURE(row.name);
        CHECK(row.sqnr() > 20);
    }

    // The simulated network is as near to the integers as what they round inside lets it be.
    const auto simulated = zp::simulate(calibrated);
    typename decltype(simulated)::workspace memory;
    const auto own = std::make_unique<decltype(int8)::workspace>();
    std::array<float, 5> y, z;
    double signal = 0, apart = 0;
    for (const auto& x : inputs) {
        simulated(x, y, memory);
        int8(x, z, *own);
        for (std::size_t k = 0; k != y.size(); ++k) {
            signal += std::pow(double{z[k]}, 2);
            apart += std::pow(double{y[k]} - double{z[k]}, 2);
        }
    }
    MESSAGE("simulated beside int8: " << zp::decibel(signal, apart)
                                      << " dB, int8 beside float: " << whole.rows.back().sqnr() << " dB");
    CHECK(zp::decibel(signal, apart) > whole.rows.back().sqnr());
    const auto swept = zp::sensitivity(simulated, std::vector(inputs.begin(), inputs.begin() + 8));
    CHECK(swept.rows.size() >= 6);
    for (const zp::row_sensitivity& one : swept.rows) CHECK(one.alone > 20);
}
