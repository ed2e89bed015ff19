// SPDX-License-Identifier: BSD-3-Clause
// The simulated network beside the integers that it stands for, its switches, and what it refuses.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/analysis/compare_simulated.hpp>
#include <zeropoint/analysis/simulated.hpp>

#include "../support/errors.hpp"
#include "compared_codes.hpp"
#include "inspected_network.hpp"

namespace {
namespace simulation_test {

using inspected::compare_codes;
using inspected::difference;
using inspected::net;
using inspected::qconfig;

}  // namespace simulation_test
}  // namespace

TEST_CASE("simulated: codes are those of the int8 network, but for single steps near ties") {
    using namespace simulation_test;
    const auto inputs = made_up::inputs<net>(16, 5);
    const auto check = [&](const auto& calibrated) {
        const difference found = compare_codes(zp::convert(calibrated), zp::simulate(calibrated), inputs);
        MESSAGE(found.differing << " of " << found.values << " codes differ, by at most " << found.largest);
        CHECK(found.values > 5000);
        CHECK(found.differing * 2000 < found.values);  // 1 in 2000
        CHECK(found.largest <= 1);
    };
    check(inspected::calibrated());
    check(inspected::calibrated<inspected::uneven>());
}

TEST_CASE("simulated: with everything switched off it is the float network, bit for bit") {
    using namespace simulation_test;
    const auto calibrated = inspected::calibrated();
    auto simulated = zp::simulate(calibrated);
    const auto fused = zp::fuse(inspected::trained());
    simulated.disable_all();
    for (const auto& x : made_up::inputs<net>(3, 7)) CHECK(simulated(x) == fused(x));
    simulated.enable_all();
    const auto x = made_up::inputs<net>(1, 7)[0];
    CHECK(simulated(x) != fused(x));
    CHECK(simulated(x) == zp::simulate(calibrated)(x));
    auto also = zp::simulate(fused, zp::convert(calibrated));
    CHECK(also(x) == simulated(x));
}

TEST_CASE("simulated: single rows by name") {
    using namespace simulation_test;
    const auto calibrated = inspected::calibrated();
    auto simulated = zp::simulate(calibrated);
    std::string names;
    for (const zp::simulated_row& one : simulated.switches())
        names += one.name + (one.has_weights ? "*" : "") + (one.has_values ? " " : "- ");
    // The max_pool2d and the flatten follow, and the concat brings what it reads to its own grid.
    CHECK(names == "input one* two* three* a* concat_10 fc* ");

    const auto x = made_up::inputs<net>(1)[0];
    const auto before = simulated(x);
    const auto real = zp::fuse(inspected::trained())(x);
    const auto error = [&](const auto& y) {
        double sum = 0;
        for (std::size_t k = 0; k != y.size(); ++k) sum += std::pow(double{y[k]} - double{real[k]}, 2);
        return std::sqrt(sum);
    };
    simulated.disable("fc");  // also its output: what is left comes from the rows in front of it
    CHECK(simulated(x) != before);
    simulated.enable("fc");
    CHECK(simulated(x) == before);
    simulated.disable("two");  // the convolution of the merged add
    CHECK(simulated.values_of(simulated.switches()[2]) == zp::precision::float32);
    simulated.enable("add_5");
    CHECK(simulated(x) == before);
    for (const zp::simulated_row& one : simulated.switches()) simulated.set(one, zp::precision::int16, false);
    CHECK(error(simulated(x)) < 0.01 * error(before));
    CHECK(error(simulated(x)) > 0);

    CHECK(zp_test::error_of<zp::value_error>([&] { simulated.disable("bn"); }) ==
          "simulated network: no row that rounds is called \"bn\": switches() lists them");
}

TEST_CASE("simulated: a row that picks values rounds where all of its inputs do") {
    using namespace simulation_test;
    const auto calibrated = inspected::calibrated();
    auto simulated = zp::simulate(calibrated);
    simulated.disable_all();
    const auto x = made_up::inputs<net>(1, 9)[0];
    typename decltype(simulated)::workspace memory;
    std::vector<float> y(6);
    const auto pooled = [&] {
        std::vector<float> values;
        const void* const xs[] = {x.data()};
        void* const ys[] = {y.data()};
        simulated.run(xs, ys, memory, [&](int row, const float* from) {
            const zp::node& n = decltype(simulated)::rows()[static_cast<std::size_t>(row)];
            if (std::string(n.name) == "pool") values.assign(from, from + n.out.extents.size());
        });
        return values;
    };
    const auto real = pooled();
    simulated.enable("silu_7");
    const auto rounded = pooled();
    REQUIRE(real.size() == 72);
    CHECK(real != rounded);
    const zp::qparams range = simulated.range_of(simulated.switches()[3].row);
    for (std::size_t k = 0; k != real.size(); ++k)
        CHECK(std::abs(std::remainder(rounded[k], range.scale)) < 1e-4f * range.scale);
}

TEST_CASE("simulated: beside its integers and beside the float network, row by row") {
    using namespace simulation_test;
    const auto calibrated = inspected::calibrated();
    const auto int8 = zp::convert(calibrated);
    const auto fake = zp::simulate(calibrated);
    auto real = fake;
    real.disable_all();
    const auto inputs = made_up::inputs<net>(8);
    const zp::comparison floats = zp::compare(calibrated, int8, inputs), fakes = zp::compare(real, fake, inputs),
                         integers = zp::compare(fake, int8, inputs);
    REQUIRE(fakes.rows.size() == floats.rows.size());
    REQUIRE(integers.rows.size() == floats.rows.size());
    for (std::size_t r = 0; r != floats.rows.size(); ++r) {
        CAPTURE(floats.rows[r].name);
        CHECK(fakes.rows[r].name == floats.rows[r].name);
        // What the fake-quantized network loses is what the integers lose.
        CHECK(fakes.rows[r].sqnr() == doctest::Approx(floats.rows[r].sqnr()).epsilon(0.01));
        CHECK(integers.rows[r].values.max_error() <= 1.001 * double{integers.rows[r].quantization.scale});
        CHECK(integers.rows[r].rmse_in_steps() < 0.03);  // less than one code in a thousand
    }
    auto other = fake;
    other.disable("two");
    const zp::comparison changed = zp::compare(other, int8, inputs);
    CHECK(changed.rows[1].rmse_in_steps() < 0.03);
    CHECK(changed.rows[2].rmse_in_steps() > 0.1);
}
