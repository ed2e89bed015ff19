// SPDX-License-Identifier: BSD-3-Clause
// Biases as 32-bit integers, and weight scales that make them fit.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <zeropoint/scheme/bias.hpp>

static_assert(zp::quantize_bias(1.0f, 0.5f, 0.25f) == 8 && zp::quantize_bias(-1.0f, 0.5f, 0.25f) == -8);
static_assert(zp::quantize_bias(0.1875f, 0.5f, 0.25f) == 2 && zp::quantize_bias(0.3125f, 0.5f, 0.25f) == 2,
              "ties to even");
static_assert(!zp::fit_weight_scale_to_bias(1.0f, 0.5f, 0.25f).raised &&
              zp::fit_weight_scale_to_bias(1.0f, 0.5f, 0.25f).weight_scale == 0.25f);

TEST_CASE("quantize_bias: the double quotient, rounded half to even") {
    std::mt19937 random(3);
    std::normal_distribution<float> bias(0, 3);
    std::uniform_real_distribution<float> scale(1e-5f, 0.1f);
    for (int i = 0; i != 10000; ++i) {
        const float b = bias(random), x = scale(random), w = scale(random);
        const double exact = static_cast<double>(b) / (static_cast<double>(x) * static_cast<double>(w));
        if (std::fabs(exact) > 2e9) continue;
        REQUIRE(zp::quantize_bias(b, x, w) == static_cast<std::int32_t>(std::nearbyint(exact)));
    }
    CHECK(zp::quantize_bias(-0x1p31f, 1, 1) == std::numeric_limits<std::int32_t>::min());
}

TEST_CASE("quantize_bias: what does not fit is an error") {
    CHECK_THROWS_AS(zp::quantize_bias(0x1p31f, 1, 1), zp::value_error);
    CHECK_THROWS_AS(zp::quantize_bias(-0x1.000002p31f, 1, 1), zp::value_error);
    CHECK_THROWS_AS(zp::quantize_bias(std::numeric_limits<float>::quiet_NaN(), 1, 1), zp::value_error);
    CHECK_THROWS_WITH_AS(zp::quantize_bias(1, 0x1p-20f, 0x1p-20f),
                         "quantize_bias: the bias 1 is 1099511627776 accumulator steps, expected a 32-bit integer: "
                         "raise the weight scale with fit_weight_scale_to_bias",
                         zp::value_error);
}

TEST_CASE("quantize_int64_bias: as quantize_bias, up to 2^40") {
    static_assert(zp::quantize_int64_bias(0.3125f, 0.5f, 0.25f) == 2, "ties to even");
    CHECK(zp::quantize_int64_bias(-1, 0x1p-20f, 0x1p-20f) == -(std::int64_t{1} << 40));
    CHECK_THROWS_WITH_AS(
        zp::quantize_int64_bias(2, 0x1p-20f, 0x1p-20f),
        "quantize_int64_bias: the bias 2 is 2199023255552 accumulator steps, expected at most 2^40: raise "
        "the weight scale with fit_weight_scale_to_bias",
        zp::value_error);
    const zp::bias_fit fit = zp::fit_weight_scale_to_bias(2, 0x1p-20f, 0x1p-20f, zp::int64_bias_limit);
    CHECK(fit.raised);
    CHECK(zp::quantize_int64_bias(2, 0x1p-20f, fit.weight_scale) > std::int64_t{1} << 39);
    CHECK_FALSE(zp::fit_weight_scale_to_bias(1, 0x1p-20f, 0x1p-20f, zp::int64_bias_limit).raised);
}

TEST_CASE("fit_weight_scale_to_bias: afterwards the bias takes at most half of int32, and nearly that") {
    std::mt19937 random(4);
    std::uniform_real_distribution<float> exponent(-30, 5);
    int raised = 0;
    for (int i = 0; i != 20000; ++i) {
        const float b = std::exp2(exponent(random)) * (i % 2 == 0 ? 1.0f : -1.0f), x = std::exp2(exponent(random)),
                    w = std::exp2(exponent(random));
        const zp::bias_fit fit = zp::fit_weight_scale_to_bias(b, x, w);
        const double steps = std::fabs(static_cast<double>(b)) / (static_cast<double>(x) * w);
        REQUIRE(fit.raised == (steps > zp::bias_limit));
        REQUIRE((fit.raised ? fit.weight_scale > w : fit.weight_scale == w));
        const std::int64_t quantized = std::llabs(zp::quantize_bias(b, x, fit.weight_scale));
        REQUIRE(quantized <= 1 << 30);
        if (fit.raised) REQUIRE(quantized > (1 << 30) - 2048);
        raised += fit.raised;
    }
    CHECK(raised > 1000);
    CHECK_THROWS_AS(zp::fit_weight_scale_to_bias(std::numeric_limits<float>::infinity(), 1, 1), zp::value_error);
    CHECK_THROWS_AS(zp::fit_weight_scale_to_bias(3e38f, 1e-30f, 1), zp::value_error);
}
