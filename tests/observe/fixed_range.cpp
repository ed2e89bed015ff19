// SPDX-License-Identifier: BSD-3-Clause
// What an observer's type says of its range in training.
#include <doctest/doctest.h>

#include <array>

#include <zeropoint/observe/fixed_range.hpp>
#include <zeropoint/observe/histogram_observer.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

static_assert(zp::switches_of<zp::moving_average_min_max_observer<>> == zp::range_switches{true, false});
static_assert(zp::switches_of<zp::learned_step<>> == zp::range_switches{false, true});
static_assert(zp::switches_of<zp::learned_step<zp::histogram_observer<>>> == zp::range_switches{false, true});
static_assert(zp::switches_of<zp::fixed_range<>> == zp::range_switches{});
static_assert(zp::switches_of<zp::min_max_observer> == zp::range_switches{});
static_assert(zp::observer<zp::fixed_range<>> && zp::observer<zp::fixed_range<zp::histogram_observer<>>>);

TEST_CASE("fixed_range: calibrates as its observer does") {
    zp::fixed_range<> fixed;
    zp::moving_average_min_max_observer<> own;
    const std::array<float, 3> first{-1, 0, 2}, second{-3, 1, 4};
    for (const auto& values : {first, second}) {
        fixed.observe({values, 1, 1, "x"});
        own.observe({values, 1, 1, "x"});
    }
    CHECK(fixed.calculate_qparams<zp::quint8, zp::per_tensor_affine>("x") ==
          own.calculate_qparams<zp::quint8, zp::per_tensor_affine>("x"));
    CHECK(fixed.range().max < 4);
}
