// SPDX-License-Identifier: BSD-3-Clause
// Counters of codes and saturation beside inference, and what a network is in static_asserts.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <zeropoint/analysis/counted.hpp>
#include <zeropoint/analysis/traits.hpp>

#include "inspected_network.hpp"

namespace {
namespace counted_test {

using inspected::net;
using floats = zp::float_model<net>;
using fused = zp::fused<net>;
using prepared = zp::prepared<net, inspected::qconfig, zp::default_architecture>;
using int8 = zp::quantized<net, inspected::qconfig>;
using mixed = zp::quantized<net, inspected::uneven>;

static_assert(!zp::is_fused<floats> && zp::is_fused<fused> && zp::is_fused<prepared> && zp::is_fused<int8>);
static_assert(zp::observers_enabled<prepared> && !zp::observers_enabled<fused> && !zp::observers_enabled<int8>);
static_assert(zp::is_fully_quantized<int8> && !zp::is_fully_quantized<mixed> && !zp::is_fully_quantized<fused>);
static_assert(zp::boundary_count<int8> == 0 && zp::boundary_count<mixed> == 2);
static_assert(sizeof(zp::counted<int8::stage, false>) == sizeof(void*));

}  // namespace counted_test
}  // namespace

TEST_CASE("counted: codes of every row, and those that are cut off") {
    using namespace counted_test;
    const auto model = zp::convert(inspected::calibrated());
    const auto inputs = made_up::inputs<net>(6, 5, -1.5f, 1.5f);
    zp::counted watched(model);
    const auto memory = std::make_unique<int8::workspace>();
    std::array<float, 6> y, expected;
    for (const auto& x : inputs) {
        watched(x, y, *memory);
        model(x, expected, *memory);
        CHECK(y == expected);
    }
    std::vector<std::uint64_t> saturated(int8::rows().size()), values(int8::rows().size());
    std::vector<std::set<int>> used(int8::rows().size());
    for (const auto& x : inputs)
        model.run(x.data(), y.data(), memory->bytes, [&](int row, const void* codes) {
            const zp::node& n = int8::rows()[static_cast<std::size_t>(row)];
            if (!n.out.is_codes()) return;
            const int zero_point = model.ranges()[n.out.qparams_id].zero_point;
            for (int k = 0; k != n.out.extents.size(); ++k) {
                const int code = static_cast<const std::uint8_t*>(codes)[k];
                const auto i = static_cast<std::size_t>(row);
                ++values[i];
                used[i].insert(code);
                saturated[i] += code == 255 || (code == 0 && zero_point != 0);
            }
        });
    CHECK(watched.rows().size() == 8);  // the input and the output are floats
    std::uint64_t all = 0;
    for (const zp::row_counts& row : watched.rows()) {
        CAPTURE(row.name);
        const auto i = static_cast<std::size_t>(row.row);
        CHECK(row.values == values[i]);
        CHECK(row.saturated == saturated[i]);
        CHECK(row.codes.used() == used[i].size());
        all += row.saturated;
    }
    CHECK(watched.rows()[0].saturated_share() > 0.2);  // a third of the inputs is outside
    CHECK(all > 0);

    zp::counted one(model), other(model);
    for (std::size_t i = 0; i != inputs.size(); ++i) (i < 2 ? one : other)(inputs[i], y, *memory);
    one.merge(other);
    CHECK(zp::to_string(one.rows()) == zp::to_string(watched.rows()));
    one.reset();
    CHECK(one.rows()[0].values == 0);

    const zp::counted<int8::stage, false> off(model);
    const std::array<float, 108> x{};
    static_assert(noexcept(off(x, y, *memory)));
    off(x, y, *memory);
    model(x, expected, *memory);
    CHECK(y == expected);
}

TEST_CASE("counted: codes of 16 bits") {
    zp::code_counts counts(-32768, 32767);
    for (int i = 0; i != 1000; ++i) counts.add(i % 10 - 32768);
    counts.add(32767);
    CHECK(counts.used() == 11);
    CHECK(counts.counts().size() == 256);
    CHECK(counts.counts()[0] == 1000);
    CHECK(counts.counts()[255] == 1);
}

TEST_CASE("counted: the bound of a clamp and a zero that nothing is below are not cut off") {
    zp::node n;
    n.out.storage = zp::scalar_type::uint8;
    n.out.quant_max = 255;
    const auto ends = [&](zp::qparams range) { return zp::saturation(n, range); };
    CHECK(ends({1, 128}).has(0));
    CHECK(ends({1, 128}).has(255));
    CHECK(!ends({1, 128}).has(254));
    CHECK(!ends({1, 0}).has(0));  // real 0, of values that are never below
    n.fused.lowest = 0;           // a relu whose range reaches below 0 clamps at the zero point, not at the lowest code
    CHECK(!ends({1, 128}).has(0));
    n.fused.highest = 6;  // a relu6: at 6 it is the bound, at 4 the range is too small
    CHECK(!ends({6.0f / 255, 0}).has(255));
    CHECK(ends({4.0f / 255, 0}).has(255));
}

TEST_CASE("traits: qparams that make no sense are named") {
    using namespace counted_test;
    auto model = zp::convert(inspected::calibrated());
    CHECK(zp::all_qparams_finite(model));
    const zp::qparams good = model.ranges()[1];
    model.ranges()[1].scale = std::numeric_limits<float>::quiet_NaN();
    CHECK(!zp::all_qparams_finite(model));
    CHECK(zp::qparams_problem(model) == "one: scale nan");
    model.ranges()[1] = {good.scale, 256};
    CHECK(zp::qparams_problem(model) == "one: zero point 256 outside of 0 to 255");
    model.ranges()[1] = {0, 3};
    CHECK(zp::qparams_problem(model) == "one: scale 0");
    model.ranges()[1] = good;
    CHECK(zp::qparams_problem(model).empty());
}
