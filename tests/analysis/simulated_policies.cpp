// SPDX-License-Identifier: BSD-3-Clause
// Simulated networks and comparisons beside integers that are rounded by other rules than the default's: biases in float, fixed-point
// multipliers, sums of their own, tables of 256 entries, activations of 16 bits.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/analysis/compare_simulated.hpp>
#include <zeropoint/analysis/simulated.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"
#include "compared_codes.hpp"

namespace {
namespace simulated_policies_test {

/// A fused clamp, a sum that some policies merge, a fused table, and outputs without either.
struct net : zp::model<zp::input<1, 1, 24>, zp::linear<"one", 32>, zp::relu, zp::residual<zp::linear<"two", 32>>,
                       zp::linear<"three", 32>, zp::silu, zp::linear<"four", 10>> {};

template <class QConfig> auto calibrated() {
    return zp::calibrate(zp::prepare<QConfig>(made_up::network<net>(1)), made_up::inputs<net>(64));
}
std::vector<std::vector<float>> inputs() { return made_up::inputs<net>(100, 5); }

/// One code in `one_in` may differ, by at most `steps`.
template <class Int8, class Simulated>
void check_codes(const Int8& int8, const Simulated& simulated, std::uint64_t one_in, int steps) {
    const inspected::difference found = inspected::compare_codes(int8, simulated, inputs());
    MESSAGE(found.differing << " of " << found.values << " codes differ, by at most " << found.largest);
    CHECK(found.values > 10'000);
    CHECK(found.differing * one_in <= found.values);
    CHECK(found.largest <= steps);
}
/// The same, and what compare says: integers lose what the simulated network loses, row by row.
template <class QConfig> void check(std::uint64_t one_in, int steps, std::size_t rows) {
    const auto source = calibrated<QConfig>();
    const auto int8 = zp::convert(source);
    const auto simulated = zp::simulate(source);
    check_codes(int8, simulated, one_in, steps);
    const zp::comparison floats = zp::compare(source, int8, inputs()),
                         integers = zp::compare(simulated, int8, inputs());
    REQUIRE(floats.rows.size() == rows);
    REQUIRE(integers.rows.size() == rows);
    for (std::size_t r = 0; r != rows; ++r) {
        CAPTURE(floats.rows[r].name);
        CHECK(floats.rows[r].sqnr() > 20);
        CHECK(integers.rows[r].sqnr() > floats.rows[r].sqnr() + 5);
        CHECK(integers.rows[r].values.max_error() <= (steps + 0.01) * double{integers.rows[r].quantization.scale});
        // Where a share of the codes is one step away, sqrt(share); rows differ.
        CHECK(integers.rows[r].rmse_in_steps() < steps * std::sqrt(6.0 / static_cast<double>(one_in)));
    }
}

}  // namespace simulated_policies_test
}  // namespace

TEST_CASE("simulated: biases in float, 7 bits, tables of 256 entries") {
    simulated_policies_test::check<zp::fbgemm_qconfig>(2000, 1, 6);
}
TEST_CASE("simulated: fixed-point multipliers, rounded twice") {
    simulated_policies_test::check<zp::tflite_qconfig>(100, 2, 6);
}
// Floats round sums of such codes, each architecture in its order: a step apart in one layer is up to three in the last with AVX-512.
TEST_CASE("simulated: activations of 16 bits") { simulated_policies_test::check<zp::int16_qconfig>(100, 3, 7); }
