// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/scheme/quantize.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

/// The definition once more, from the double that holds the float product exactly as it is.
template <class Q>
Q expected_code(float x, float scale, std::int32_t zero_point, std::int32_t quant_min, std::int32_t quant_max) {
    volatile float inverse = 1.0f / scale;
    volatile float product = x * inverse;  // volatile: rounded to float, whatever the compiler may contract
    if (std::isnan(product)) return static_cast<Q>(zero_point);
    const double rounded = std::nearbyint(double{product}) + zero_point;
    return static_cast<Q>(rounded < quant_min ? quant_min : rounded > quant_max ? quant_max : rounded);
}

std::vector<float> hard_values(float scale) {
    std::vector<float> values = {0.0f,
                                 -0.0f,
                                 1e30f,
                                 -1e30f,
                                 std::numeric_limits<float>::infinity(),
                                 1e-45f,
                                 -1e-45f,
                                 -std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN(),
                                 -std::numeric_limits<float>::quiet_NaN(),
                                 std::numeric_limits<float>::max(),
                                 0.49999997f * scale};
    for (int k = -300; k <= 300; ++k) {  // ties of even and odd neighbours, and the floats next to them
        const float tie = (static_cast<float>(k) + 0.5f) * scale;
        values.insert(values.end(), {tie, std::nextafter(tie, -1e9f), std::nextafter(tie, 1e9f)});
    }
    return values;
}

template <class Q> void compare(float scale, std::int32_t zero_point, std::int32_t quant_min, std::int32_t quant_max) {
    CAPTURE(scale);
    CAPTURE(zero_point);
    std::vector<float> x = hard_values(scale);
    const std::vector<float> random = arrays::reals(3000, 7, -300.0f * scale, 300.0f * scale);
    x.insert(x.end(), random.begin(), random.end());
    std::vector<Q> expected(x.size());
    for (std::size_t i = 0; i != x.size(); ++i)
        expected[i] = expected_code<Q>(x[i], scale, zero_point, quant_min, quant_max);
    std::vector<float> expected_real(x.size());
    for (std::size_t i = 0; i != x.size(); ++i)
        expected_real[i] = scale * static_cast<float>(static_cast<double>(expected[i]) - zero_point);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Q> codes(x.size());
        kernel::quantize<Arch>(x.data(), x.size(), scale, zero_point, quant_min, quant_max, codes.data());
        CHECK(codes == expected);
        std::vector<float> real(x.size());
        kernel::dequantize<Arch>(codes.data(), codes.size(), scale, zero_point, real.data());
        CHECK(arrays::same_bits(real, expected_real));
    });
}

}  // namespace

TEST_CASE("quantize: codes are rne(x * (1 / scale)) + zero_point, clamped") {
    for (const float scale : {1.0f, 0.25f, 0.1f, 0.00214854861f, 3e-5f, 17.3f}) {
        for (const int zero_point : {0, 1, 128, 255}) compare<std::uint8_t>(scale, zero_point, 0, 255);
        for (const int zero_point : {0, 127}) compare<std::uint8_t>(scale, zero_point, 0, 127);
        for (const int zero_point : {-128, -3, 0, 127}) compare<std::int8_t>(scale, zero_point, -128, 127);
        compare<std::int8_t>(scale, 0, -8, 7);
        compare<std::int16_t>(scale, -32768, -32768, 32767);
        compare<std::int16_t>(scale, 0, -32768, 32767);
        compare<std::int32_t>(scale, 0, std::numeric_limits<std::int32_t>::min(),
                              std::numeric_limits<std::int32_t>::max());
    }
}

TEST_CASE("quantize: FBGEMM's own example of a reciprocal that decides") {
    const float x = 0.273939937f;
    std::uint8_t q = 0;
    kernel::quantize<zp::portable>(&x, 1, 0.00214854861f, 0, 0, 255, &q);
    CHECK(int{q} == 128);  // x / scale = 127.499992 would give 127
}

TEST_CASE_TEMPLATE("quantize and dequantize: the scheme's constexpr functions are the specification", DType, zp::quint8,
                   zp::qint8, zp::qint8_narrow, zp::quint8_reduced, zp::qint4, zp::qint16, zp::qint32) {
    using code = typename DType::storage;
    for (const float scale : {0.037f, 0.5f, 1e-38f, 1e30f}) {
        for (const std::int32_t zero_point : {0, DType::quant_min / 2, DType::quant_max / 3}) {
            std::vector<float> x = hard_values(scale);
            x.insert(x.end(), {2147483520.0f * scale, 2147483648.0f * scale, -2147483648.0f * scale});
            const zp::qparams params{scale, zero_point};
            std::vector<code> expected(x.size());
            std::vector<float> expected_real(x.size());
            for (std::size_t i = 0; i != x.size(); ++i) {
                expected[i] = zp::quantize<DType>(x[i], params);
                expected_real[i] = zp::dequantize(expected[i], params);
            }
            arrays::for_each_architecture([&]<class Arch>() {
                std::vector<code> codes(x.size());
                kernel::quantize<Arch>(x.data(), x.size(), scale, zero_point, DType::quant_min, DType::quant_max,
                                       codes.data());
                CHECK(codes == expected);
                std::vector<float> real(x.size());
                kernel::dequantize<Arch>(codes.data(), codes.size(), scale, zero_point, real.data());
                CHECK(arrays::same_bits(real, expected_real));
            });
        }
    }
}

TEST_CASE("quantize and dequantize: every length, unaligned, in buffers of the exact size") {
    arrays::for_each_architecture([]<class Arch>() {
        for (std::size_t count = 0; count <= 130; ++count) {
            const std::vector<float> x = arrays::reals(count + 1, count);
            std::vector<std::uint8_t> codes(count + 1, 99), expected(count + 1, 99);
            for (std::size_t i = 0; i != count; ++i)
                expected[i + 1] = expected_code<std::uint8_t>(x[i + 1], 0.02f, 100, 0, 255);
            kernel::quantize<Arch>(x.data() + 1, count, 0.02f, 100, 0, 255, codes.data() + 1);
            CHECK(codes == expected);
            std::vector<float> real(count + 1, 7.0f), expected_real(count + 1, 7.0f);
            for (std::size_t i = 0; i != count; ++i)
                expected_real[i + 1] = 0.02f * static_cast<float>(codes[i + 1] - 100);
            kernel::dequantize<Arch>(codes.data() + 1, count, 0.02f, 100, real.data() + 1);
            CHECK(real == expected_real);
        }
    });
}

TEST_CASE("quantize_per_channel: each run of values has its scale and zero point") {
    constexpr std::size_t channels = 5, inner = 37;
    const std::vector<float> x = arrays::reals(channels * inner, 3);
    const std::vector<float> scales = {0.01f, 0.02f, 0.5f, 1.0f, 0.033f};
    const std::vector<std::int32_t> zero_points = {0, 1, -1, 100, -128};
    for (const std::int32_t* offsets : {zero_points.data(), static_cast<const std::int32_t*>(nullptr)}) {
        std::vector<std::int8_t> expected(x.size());
        std::vector<float> expected_real(x.size());
        for (std::size_t i = 0; i != x.size(); ++i) {
            const std::size_t c = i / inner;
            const std::int32_t zero_point = offsets == nullptr ? 0 : zero_points[c];
            expected[i] = expected_code<std::int8_t>(x[i], scales[c], zero_point, -128, 127);
            expected_real[i] = scales[c] * static_cast<float>(expected[i] - zero_point);
        }
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::int8_t> codes(x.size());
            kernel::quantize_per_channel<Arch>(x.data(), channels, inner, scales.data(), offsets, -128, 127,
                                               codes.data());
            CHECK(codes == expected);
            std::vector<float> real(x.size());
            kernel::dequantize_per_channel<Arch>(codes.data(), channels, inner, scales.data(), offsets, real.data());
            CHECK(real == expected_real);
        });
    }
}
