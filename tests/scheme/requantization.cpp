// SPDX-License-Identifier: BSD-3-Clause
// Multipliers, as floats and in fixed point.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <zeropoint/scheme/requantization.hpp>

static_assert(zp::requantize_multiplier(0.5f, 0.25f, 0.125f) == 1.0f);
static_assert(zp::quantize_multiplier(1.0) == zp::fixed_point_multiplier{1 << 30, 1});
static_assert(zp::quantize_multiplier(0.75) == zp::fixed_point_multiplier{3 << 29, 0});
static_assert(zp::quantize_multiplier(0) == zp::fixed_point_multiplier{0, 0});

TEST_CASE("requantize_multiplier: one double product and quotient, rounded to float") {
    // In float the product would lose bits that the quotient shows.
    volatile float x = 1 + 0x1p-12f, w = 1 + 0x1p-12f, y = 1 + 0x1p-11f;
    CHECK(zp::requantize_multiplier(x, w, y) == static_cast<float>((1 + 0x1p-12) * (1 + 0x1p-12) / (1 + 0x1p-11)));
    CHECK(zp::requantize_multiplier(1e-30f, 1e-30f, 1e-30f) == 1e-30f);
}

TEST_CASE("quantize_multiplier: as with frexp and std::round") {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> exponent(-40, 31);
    for (int i = 0; i != 100000; ++i) {
        const double factor = i % 2 == 0 ? std::exp2(exponent(random))
                                         : std::ldexp(0.5 + static_cast<double>(random() % 8192) * 0x1p-32,
                                                      static_cast<int>(random() % 60) - 35);
        int shift = 0;
        auto multiplier = static_cast<std::int64_t>(std::round(std::frexp(factor, &shift) * 0x1p31));
        if (multiplier == std::int64_t{1} << 31) multiplier /= 2, ++shift;
        if (shift < -31) multiplier = shift = 0;
        REQUIRE(zp::quantize_multiplier(factor) ==
                zp::fixed_point_multiplier{static_cast<std::int32_t>(multiplier), shift});
    }
    CHECK(zp::quantize_multiplier(std::nextafter(1.0, 0.0)) ==
          zp::fixed_point_multiplier{1 << 30, 1});  // rounds to the next power
    CHECK(zp::quantize_multiplier(0x1p-32) == zp::fixed_point_multiplier{1 << 30, -31});
    CHECK(zp::quantize_multiplier(0x1p-33) == zp::fixed_point_multiplier{});
    CHECK(zp::quantize_multiplier(std::numeric_limits<double>::denorm_min()) == zp::fixed_point_multiplier{});
}

TEST_CASE("quantize_multiplier_single_rounding: the shift stays at most 30") {
    CHECK(zp::quantize_multiplier_single_rounding(0.3) == zp::quantize_multiplier(0.3));
    CHECK(zp::quantize_multiplier_single_rounding(0x1p29) == zp::fixed_point_multiplier{1 << 30, 30});
    CHECK(zp::quantize_multiplier_single_rounding(0x1p30) == zp::fixed_point_multiplier{2147483647, 30});
}

TEST_CASE("quantize_multiplier: a factor outside [0, 2^31) is an error") {
    for (const double factor :
         {-1.0, 0x1p31, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS_AS(zp::quantize_multiplier(factor), zp::value_error);
}
