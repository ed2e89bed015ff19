// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/fake_quantize.hpp>
#include <zeropoint/scheme/quantize.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

struct range {
    float scale;
    std::int32_t zero_point, quant_min, quant_max;
};

/// The definition once more, in double, from the product that is a float.
struct expected_result {
    double steps;  // of the product; NaN stays one
    double code;   // counted from the zero point, clamped
    bool inside;

    expected_result(float x, const range& by) {
        volatile float inverse = 1.0f / by.scale;
        volatile float product = x * inverse;  // volatile: rounded to float, whatever the compiler may contract
        steps = double{product};
        const double low = by.quant_min - by.zero_point, high = by.quant_max - by.zero_point;
        const double nearest = std::nearbyint(steps);
        code = std::isnan(steps) ? 0 : nearest < low ? low : nearest > high ? high : nearest;
        inside = nearest >= low && nearest <= high;
    }
};

std::vector<float> hard_values(const range& by) {
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> values = {0.0f,  -0.0f,  infinity, -infinity, nan,   -nan, std::numeric_limits<float>::max(),
                                 1e30f, -1e30f, 3e9f,     -3e9f,     1e-45f};
    for (int k = by.quant_min - by.zero_point - 3; k <= by.quant_max - by.zero_point + 3; ++k) {
        const float tie = (static_cast<float>(k) + 0.5f) * by.scale;
        values.insert(values.end(), {tie, std::nextafter(tie, -1e9f), std::nextafter(tie, 1e9f)});
    }
    const float wide = 1.5f * by.scale * static_cast<float>(by.quant_max - by.quant_min);
    const std::vector<float> random = arrays::reals(1003, 7, -wide, wide);
    values.insert(values.end(), random.begin(), random.end());
    return values;
}

constexpr range ranges[] = {{0.1f, 3, 0, 255},          {0.25f, 0, -128, 127}, {0x1p-23f, -5, -8, 7},
                            {1.7f, 7, 0, 15},           {3e30f, 0, -127, 127}, {1e-38f, 1, -128, 127},
                            {0.01f, 12, -32768, 32767}, {0.5f, 0, -1, 1},      {1.0f, 127, 0, 127}};

}  // namespace

TEST_CASE("fake_quantize: values, masks and gradients are those of the definition, on every vector and tail") {
    for (const range& by : ranges) {
        CAPTURE(by.scale);
        const kernel::fake_quantizer quantizer(by.scale, by.zero_point, by.quant_min, by.quant_max);
        const std::vector<float> x = hard_values(by);
        std::vector<float> values(x.size()), gradient(x.size()), dy = arrays::reals(x.size(), 3);
        std::vector<std::uint8_t> inside(x.size());
        for (std::size_t i = 0; i != x.size(); ++i) {
            const expected_result expected(x[i], by);
            values[i] = static_cast<float>(expected.code) * by.scale + 0.0f;  // never -0
            inside[i] = expected.inside;
            gradient[i] = expected.inside ? dy[i] : 0.0f;
            // And it is what the converted network computes with.
            const zp::qparams params{by.scale, by.zero_point};
            REQUIRE(values[i] == zp::dequantize(zp::quantize(x[i], params, by.quant_min, by.quant_max), params));
        }
        arrays::for_each_architecture([&]<class Arch>() {
            for (const std::size_t count : {x.size(), std::size_t{31}, std::size_t{4}, std::size_t{0}}) {
                std::vector<float> y(count), alone(count), dx(count);
                std::vector<std::uint8_t> mask(count), mask_alone(count);
                kernel::fake_quantize<Arch>(x.data(), count, quantizer, y.data(), mask.data());
                kernel::fake_quantize<Arch>(x.data(), count, quantizer, alone.data());
                kernel::fake_quantize<Arch>(x.data(), count, quantizer, nullptr, mask_alone.data());
                kernel::fake_quantize_backward<Arch>(dy.data(), mask.data(), count, dx.data());
                CHECK(arrays::same_bits(y, {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)}));
                CHECK(arrays::same_bits(alone, y));
                CHECK(mask == std::vector(inside.begin(), inside.begin() + static_cast<std::ptrdiff_t>(count)));
                CHECK(mask_alone == mask);
                CHECK(arrays::same_bits(dx, {gradient.begin(), gradient.begin() + static_cast<std::ptrdiff_t>(count)}));
                kernel::pass_inside<Arch>(x.data(), dy.data(), count, quantizer, alone.data());
                CHECK(arrays::same_bits(alone, dx));
            }
            std::vector<float> in_place = x;
            kernel::fake_quantize<Arch>(in_place.data(), x.size(), quantizer, in_place.data());
            CHECK(arrays::same_bits(in_place, values));
        });
    }
}

TEST_CASE("learned_step_backward: the sums of the definition in double, and the same bits everywhere") {
    for (const range& by : ranges) {
        CAPTURE(by.scale);
        const kernel::fake_quantizer quantizer(by.scale, by.zero_point, by.quant_min, by.quant_max);
        const std::vector<float> x = hard_values(by), dy = arrays::reals(x.size(), 4);
        double steps = 0, clipped = 0, size = 0;
        std::vector<float> gradient(x.size());
        for (std::size_t i = 0; i != x.size(); ++i) {
            const expected_result expected(x[i], by);
            if (std::isnan(expected.steps)) continue;
            steps += double{dy[i]} * (expected.inside ? expected.code - expected.steps : expected.code);
            size += std::fabs(double{dy[i]} * expected.code);
            if (expected.inside) gradient[i] = dy[i];
            else clipped += double{dy[i]};
        }
        kernel::learned_sums first;
        bool is_first = true;
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> dx(x.size());
            const auto sums = kernel::learned_step_backward<Arch>(x.data(), dy.data(), x.size(), quantizer, dx.data());
            CHECK(std::fabs(sums.steps - steps) <= 1e-12 * size);
            CHECK(sums.clipped == doctest::Approx(clipped).epsilon(1e-12));
            CHECK(arrays::same_bits(dx, gradient));
            if (is_first) first = sums;
            is_first = false;
            CHECK(sums.steps == first.steps);
            CHECK(sums.clipped == first.clipped);
        });
    }
}

TEST_CASE("pact_backward: the gradient passes within [0, alpha), alpha's is the sum of the rest above") {
    const float alpha = 1.5f;
    std::vector<float> x = {0.0f, -0.0f, alpha, std::nextafter(alpha, 0.0f), -1e-45f, 7.0f, std::nanf("")};
    const std::vector<float> random = arrays::reals(600, 2);
    x.insert(x.end(), random.begin(), random.end());
    const std::vector<float> dy = arrays::reals(x.size(), 5);
    std::vector<float> expected(x.size());
    double sum = 0;
    for (std::size_t i = 0; i != x.size(); ++i) {
        if (x[i] >= 0 && x[i] < alpha) expected[i] = dy[i];
        if (x[i] >= alpha) sum += double{dy[i]};
    }
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<float> dx(x.size());
        CHECK(kernel::pact_backward<Arch>(x.data(), dy.data(), x.size(), alpha, dx.data()) ==
              doctest::Approx(sum).epsilon(1e-12));
        CHECK(arrays::same_bits(dx, expected));
    });
}
