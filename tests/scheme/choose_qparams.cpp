// SPDX-License-Identifier: BSD-3-Clause
// Every rule against its system's formula written out once more, and the errors.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace {

// The constexpr code is a constant expression for every rule and kind of dtype.
static_assert(zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(-1.0f, 2.0f).zero_point == 85);
static_assert(zp::choose_qparams<zp::quint8, zp::per_tensor_affine, zp::fbgemm_rule>(-1.0f, 2.0f).zero_point == 85);
static_assert(zp::choose_qparams<zp::qint8, zp::per_tensor_affine, zp::tflite_rule>(-1.0f, 2.0f).zero_point == -43);
static_assert(zp::choose_qparams<zp::qint8, zp::per_tensor_affine, zp::onnxruntime_rule>(-1.0f, 2.0f).zero_point ==
              -43);
static_assert(zp::choose_qparams<zp::qint32, zp::per_tensor_affine>(-1000.0f, 1000.0f).zero_point == 0);

static_assert(zp::symmetric_zero_point<zp::qint8> == 0 && zp::symmetric_zero_point<zp::quint8> == 128);
static_assert(zp::symmetric_zero_point<zp::quint8_reduced> == 63 && zp::symmetric_zero_point<zp::quint4> == 7);
static_assert(zp::symmetric_zero_point<zp::custom_range<std::uint8_t, 0, 254>> == 127);
static_assert(zp::symmetric_zero_point<zp::custom_range<std::uint16_t, 0, 65535>> == 32768);
static_assert(zp::symmetric_zero_point<zp::qint32> == 0);

struct range {
    float min, max;
};

/// Ranges of every kind: around zero, on one side, constant, tiny, huge, and those whose zero point is nearly a tie.
range random_range(std::mt19937& random, int i) {
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> exponent(-12, 12);
    const float size = std::pow(10.0f, exponent(random) * (i % 7 == 0 ? 2.5f : 0.5f));
    float a = normal(random) * size, b = normal(random) * size;
    if (i % 5 == 1) b = a;
    if (i % 5 == 2) a = std::fabs(a), b = a + std::fabs(b);
    if (i % 5 == 3) a = (static_cast<float>(random() % 255) + 0.5f) * -0.03125f, b = a + 255 * 0.03125f;
    if (i % 5 == 4 && i % 3 == 0) a = 0;
    return {std::min(a, b), std::max(a, b)};
}

double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/// Rounded to float, and so not contracted with what comes next.
float stored(float x) {
    volatile float y = x;
    return y;
}

// The formulas, with the operations that the system has.

struct codes {
    int min, max;
};
using formula = zp::qparams (*)(codes q, bool symmetric, float min, float max);

zp::qparams pytorch(codes q, bool symmetric, float min, float max, float epsilon) {
    const float low = std::min(min, 0.0f), high = std::max(max, 0.0f);
    const double steps = q.max - q.min;
    if (symmetric) {
        const float scale = std::max(stored(std::max(-low, high) / static_cast<float>(steps / 2)), epsilon);
        return {scale, q.min < 0 ? 0 : q.max == 255 ? 128 : (q.min + q.max) / 2};
    }
    const float scale = std::max(stored((high - low) / static_cast<float>(steps)), epsilon);
    return {scale, static_cast<int>(clamp(q.min - std::nearbyint(double{stored(low / scale)}), q.min, q.max))};
}
zp::qparams pytorch_default(codes q, bool symmetric, float min, float max) {
    return pytorch(q, symmetric, min, max, 0x1p-23f);
}
zp::qparams pytorch_coarse(codes q, bool symmetric, float min, float max) {
    return pytorch(q, symmetric, min, max, 0x1p-12f);
}

zp::qparams fbgemm(codes q, bool symmetric, float min, float max) {
    min = std::min(min, 0.0f);
    max = std::max(max, 0.0f);
    if (symmetric) {
        const int lowest = -((q.max - q.min) / 2 + 1), highest = (q.max - q.min) / 2;
        const double step =
            std::max(std::fabs(min / static_cast<float>(lowest)), std::fabs(max / static_cast<float>(highest)));
        min = stored(static_cast<float>(step * lowest));
        max = stored(static_cast<float>(step * highest));
    }
    float scale = stored(static_cast<float>((static_cast<double>(max) - min) / (q.max - q.min)));
    if (scale == 0.0f || std::isinf(1.0f / scale)) scale = 0.1f;
    if (scale < 6.1e-5f) {
        const float amplifier = stored(6.1e-5f / scale), steps = static_cast<float>(q.max - q.min);
        scale = 6.1e-5f;
        if (min == 0.0f) max = stored(6.1e-5f * steps);
        else if (max == 0.0f) min = stored(-6.1e-5f * steps);
        else min = stored(min * amplifier), max = stored(max * amplifier);
    }
    const double s = static_cast<double>(scale), error_min = std::abs(q.min) + std::fabs(min / s),
                 error_max = std::abs(q.max) + std::fabs(max / s);
    double zero_point = error_min < error_max ? q.min - min / s : q.max - max / s;
    if (symmetric) zero_point = q.min < 0 ? 0 : q.max == 255 ? 128 : (q.min + q.max) / 2;
    return {scale, static_cast<int>(clamp(std::nearbyint(zero_point), q.min, q.max))};
}

zp::qparams tflite(codes q, bool symmetric, float min, float max) {
    if (symmetric) {
        const float scale = std::max(std::fabs(min), std::fabs(max)) / static_cast<float>(q.max);
        return {scale == 0 ? 1 : scale, 0};
    }
    const float low = std::min(min, 0.0f), high = std::max(max, 0.0f);
    const float scale = stored((high - low) / (static_cast<float>(q.max) - static_cast<float>(q.min)));
    if (scale == 0) return {1, q.min};
    const float zero_point = stored(static_cast<float>(q.min) - stored(low / scale));
    return {scale, static_cast<int>(clamp(std::round(zero_point), q.min, q.max))};
}

zp::qparams onnxruntime(codes q, bool symmetric, float min, float max) {
    double low = std::min(min, 0.0f), high = std::max(max, 0.0f);
    if (symmetric) high = std::max(-low, high), low = -high;
    const double scale = (high - low) / (q.max - q.min), middle = std::nearbyint((q.min + q.max) / 2.0);
    if (scale < double{std::numeric_limits<float>::min()}) return {1, symmetric ? static_cast<int>(middle) : 0};
    const double zero_point = symmetric ? middle : std::nearbyint(q.min - low / scale);
    return {static_cast<float>(scale), static_cast<int>(clamp(zero_point, q.min, q.max))};
}

template <class D, class Rule> void check(formula right) {
    INFO(D::name);
    std::mt19937 random(6);
    int different = 0, invalid = 0;
    range worst{};
    for (int i = 0; i != 3000; ++i) {
        const range r = random_range(random, i);
        const zp::qparams affine = zp::choose_qparams<D, zp::per_tensor_affine, Rule>(r.min, r.max);
        const zp::qparams symmetric = zp::choose_qparams<D, zp::per_channel_symmetric, Rule>(r.min, r.max);
        const bool same = affine == right({D::quant_min, D::quant_max}, false, r.min, r.max) &&
                          symmetric == right({D::quant_min, D::quant_max}, true, r.min, r.max);
        if (!same) ++different, worst = r;
        invalid += !zp::is_valid<D>(affine) || !zp::is_valid<D>(symmetric);
    }
    INFO("last range that differs: ", worst.min, " to ", worst.max);
    CHECK(different == 0);
    CHECK(invalid == 0);
}

constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class D, class S, class Rule = zp::pytorch_rule> zp::qparams choose(float min, float max) {
    return zp::choose_qparams<D, S, Rule>(min, max);
}

}  // namespace

TEST_CASE_TEMPLATE("choose_qparams: every rule is its system's formula", D, zp::quint8, zp::qint8, zp::qint8_narrow,
                   zp::quint8_reduced, zp::qint8_reduced, zp::qint4, zp::quint4, zp::qint16) {
    check<D, zp::pytorch_rule>(pytorch_default);
    check<D, zp::pytorch_rule_with_epsilon<-12>>(pytorch_coarse);
    check<D, zp::fbgemm_rule>(fbgemm);
    check<D, zp::onnxruntime_rule>(onnxruntime);
    if constexpr (D::is_signed) check<D, zp::tflite_rule>(tflite);
}

TEST_CASE("choose_qparams: zero has a code of its own") {
    std::mt19937 random(7);
    for (int i = 0; i != 1000; ++i) {
        const range r = random_range(random, i);
        const zp::qparams params = zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(r.min, r.max);
        REQUIRE(zp::fake_quantize<zp::quint8>(0.0f, params) == 0.0f);
    }
}

TEST_CASE("choose_qparams: a constant is legal, and comes back to within an ulp") {
    for (const float x : {0.75f, -3.3f, 1e-3f, 60000.0f, -1e30f}) {
        const zp::qparams params = zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(x, x);
        const float back = zp::fake_quantize<zp::quint8>(x, params);
        CHECK(back >= std::nextafter(x, -infinity));
        CHECK(back <= std::nextafter(x, infinity));
    }
    // Nothing but zeros: PyTorch's smallest scale, and zero is exact.
    CHECK(choose<zp::quint8, zp::per_tensor_affine>(0, 0) == zp::qparams{0x1p-23f, 0});
    CHECK(choose<zp::qint8, zp::per_tensor_affine>(0, -0.0f) == zp::qparams{0x1p-23f, -128});
    CHECK(choose<zp::qint8, zp::per_tensor_symmetric>(0, 0) == zp::qparams{0x1p-23f, 0});
    CHECK(choose<zp::quint8, zp::per_tensor_affine, zp::fbgemm_rule>(0, 0) == zp::qparams{0.1f, 0});
    CHECK(choose<zp::qint8, zp::per_tensor_affine, zp::tflite_rule>(0, 0) == zp::qparams{1, -128});
    CHECK(choose<zp::qint8, zp::per_tensor_symmetric, zp::tflite_rule>(0, 0) == zp::qparams{1, 0});
    CHECK(choose<zp::quint8, zp::per_tensor_affine, zp::onnxruntime_rule>(0, 1e-37f) == zp::qparams{1, 0});
    CHECK(choose<zp::quint8, zp::per_tensor_symmetric, zp::onnxruntime_rule>(0, 1e-37f) == zp::qparams{1, 128});
}

TEST_CASE("choose_qparams: errors name what came") {
    CHECK_THROWS_WITH_AS((choose<zp::quint8, zp::per_tensor_affine>(3, 2.5f)),
                         "choose_qparams: expected finite min <= max, got min 3, max 2.5", zp::value_error);
    CHECK_THROWS_WITH_AS((choose<zp::quint8, zp::per_tensor_affine>(not_a_number, 1)),
                         "choose_qparams: expected finite min <= max, got min nan, max 1", zp::value_error);
    CHECK_THROWS_AS((choose<zp::quint8, zp::per_tensor_affine>(0, not_a_number)), zp::value_error);
    CHECK_THROWS_AS((choose<zp::quint8, zp::per_tensor_affine>(-infinity, 0)), zp::value_error);
    CHECK_THROWS_AS((choose<zp::quint8, zp::per_tensor_affine>(0, infinity)), zp::value_error);
    CHECK_THROWS_AS((choose<zp::quint8, zp::per_tensor_affine>(-3e38f, 3e38f)),
                    zp::value_error);  // max - min is infinite
    CHECK(choose<zp::quint8, zp::per_tensor_affine, zp::onnxruntime_rule>(-3e38f, 3e38f).zero_point ==
          128);  // in double it is not
}

TEST_CASE("choose_qparams: a zero point half way is rounded to even, TFLite's away from zero") {
    CHECK(choose<zp::quint8, zp::per_tensor_affine>(-0.5f, 254.5f) == zp::qparams{1.0f, 0});
    CHECK(choose<zp::quint8, zp::per_tensor_affine>(-1.5f, 253.5f) == zp::qparams{1.0f, 2});
    CHECK(choose<zp::qint8, zp::per_tensor_affine, zp::tflite_rule>(-0.5f, 254.5f) == zp::qparams{1.0f, -128});
    CHECK(choose<zp::qint8, zp::per_tensor_affine, zp::tflite_rule>(-1.5f, 253.5f) == zp::qparams{1.0f, -127});
}
