// SPDX-License-Identifier: BSD-3-Clause
// quantize and dequantize against the formula in wider arithmetic, at ties, bounds and special values.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/scheme/quantize.hpp>

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

static_assert(zp::quantize<zp::quint8>(0.0f, {0.1f, 7}) == 7);
static_assert(zp::quantize<zp::quint8>(2.5f, {1, 1}) == 3 && zp::quantize<zp::quint8>(3.5f, {1, 1}) == 5,
              "ties to even before the zero point is added");
static_assert(zp::quantize<zp::qint8>(-1e30f, {0.1f, 7}) == -128 &&
              zp::quantize<zp::qint8_narrow>(-1e30f, {0.1f, 7}) == -127);
static_assert(zp::dequantize(12, {0.5f, 10}) == 1.0f);
static_assert(zp::fake_quantize<zp::quint8>(1.1f, {0.5f, 10}) == 1.0f);

/// The definition, with the one float product taken as given and everything else in double.
std::int32_t formula(float x, const zp::qparams& params, std::int32_t low, std::int32_t high) {
    volatile float inverse = 1.0f / params.scale, steps = x * inverse;
    const double code = std::nearbyint(double{steps}) + params.zero_point;
    return static_cast<std::int32_t>(code < low ? low : code > high ? high : code);
}

}  // namespace

TEST_CASE_TEMPLATE("quantize: the formula, for random values, ties and all zero points", D, zp::quint8, zp::qint8,
                   zp::qint8_narrow, zp::quint8_reduced, zp::qint4, zp::qint16, zp::qint32) {
    std::mt19937 random(8);
    std::uniform_real_distribution<float> uniform(-1.3f, 1.3f);
    for (int i = 0; i != 20000; ++i) {
        const auto zero_point = static_cast<std::int32_t>(
            D::quant_min + static_cast<std::int64_t>(random()) % (std::int64_t{D::quant_max} - D::quant_min + 1));
        const zp::qparams params{std::exp2(static_cast<float>(random() % 400) / 10 - 20), zero_point};
        const float extent = params.scale * (static_cast<float>(D::quant_max) - static_cast<float>(D::quant_min));
        const float tie = (static_cast<float>(random() % 600) - 299.5f) * params.scale;
        const float x = i % 2 == 0 ? uniform(random) * extent : tie;
        CAPTURE(x);
        CAPTURE(params.scale);
        CAPTURE(zero_point);
        REQUIRE(zp::quantize<D>(x, params) == formula(x, params, D::quant_min, D::quant_max));
    }
}

TEST_CASE("quantize: the product with the reciprocal, not the quotient") {
    // FBGEMM's own example: the quotient is 127.499992.
    CHECK(zp::quantize<zp::quint8>(0.273939937f, {0.00214854861f, 0}) == 128);
}

TEST_CASE_TEMPLATE("quantize: NaN is the zero point, infinities and huge values are the outermost codes", D, zp::quint8,
                   zp::qint8_narrow, zp::quint8_reduced, zp::qint4, zp::qint32) {
    for (const std::int32_t zero_point : {D::quant_min, (D::quant_min + D::quant_max) / 2, D::quant_max}) {
        for (const float scale : {1e-42f, 1e-30f, 1.0f, 1e30f}) {
            const zp::qparams params{scale, zero_point};
            CHECK(zp::quantize<D>(not_a_number, params) == zero_point);
            CHECK(zp::quantize<D>(0.0f, params) == zero_point);
            CHECK(zp::quantize<D>(-0.0f, params) == zero_point);
            CHECK(zp::quantize<D>(infinity, params) == D::quant_max);
            CHECK(zp::quantize<D>(-infinity, params) == D::quant_min);
        }
        CHECK(zp::quantize<D>(3e38f, {1e-3f, zero_point}) == D::quant_max);
        CHECK(zp::quantize<D>(-3e38f, {1e-3f, zero_point}) == D::quant_min);
    }
}

TEST_CASE("dequantize: every code comes back to itself") {
    for (const float scale : {1e-7f, 0.1f, 1.0f, 0.00214854861f, 3e4f})
        for (std::int32_t zero_point = 0; zero_point <= 255; zero_point += 51)
            for (std::int32_t code = 0; code <= 255; ++code) {
                const zp::qparams params{scale, zero_point};
                REQUIRE(zp::quantize<zp::quint8>(zp::dequantize(code, params), params) == code);
            }
    CHECK(zp::dequantize(std::numeric_limits<std::int32_t>::max(), {1, std::numeric_limits<std::int32_t>::min()}) ==
          0x1p32f);
}

TEST_CASE("quantize: spans, per tensor and per channel") {
    const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<std::uint8_t> codes(8);
    zp::quantize<zp::quint8>(x, {0.5f, 1}, codes);
    CHECK(codes == std::vector<std::uint8_t>{3, 5, 7, 9, 11, 13, 15, 17});
    std::vector<float> back(8);
    zp::dequantize<zp::quint8>(codes, {0.5f, 1}, back);
    CHECK(back == x);

    const std::vector<zp::qparams> channels = {{1, 0}, {0.5f, 10}};
    zp::quantize_per_channel<zp::quint8>(x, channels, 1, codes);  // NHWC: channels alternate
    CHECK(codes == std::vector<std::uint8_t>{1, 14, 3, 18, 5, 22, 7, 26});
    zp::quantize_per_channel<zp::quint8>(x, channels, 4, codes);  // filters of 4 weights
    CHECK(codes == std::vector<std::uint8_t>{1, 2, 3, 4, 20, 22, 24, 26});
    zp::dequantize_per_channel<zp::quint8>(codes, channels, 4, back);
    CHECK(back == x);
    zp::quantize_per_channel<zp::quint8>(x, channels, 2, codes);  // two images of 2 x 2
    CHECK(codes == std::vector<std::uint8_t>{1, 2, 16, 18, 5, 6, 24, 26});

    codes.resize(7);
    CHECK_THROWS_WITH_AS(zp::quantize<zp::quint8>(x, {0.5f, 1}, codes), "quantize: input has 8 values, output 7",
                         zp::shape_error);
    CHECK_THROWS_AS(zp::dequantize_per_channel<zp::quint8>(codes, channels, 1, back), zp::shape_error);
}
