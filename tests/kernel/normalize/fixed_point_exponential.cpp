// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/normalize/fixed_point_exponential.hpp>

#include "../../support/extent.hpp"
#include "../../support/generator.hpp"

namespace kernel = zp::kernel;
using zp_test::generator;

static_assert(kernel::fixed_point_exponential(1.0f, 0) == 1 << 30);
static_assert(kernel::fixed_point_exponential(1.0f, 1) == 395007542);  // 2^30 / e = 395007542.3
static_assert(kernel::fixed_point_log2(1) == 0);
static_assert(kernel::fixed_point_log2(std::uint64_t{1} << 63) == std::int64_t{63} << 26);

TEST_CASE("multiply_high: the upper half of 128 bits") {
    generator next(3);
    const auto number = [&] { return std::uint64_t{next()} << 32 | next(); };
    CHECK(kernel::multiply_high(~std::uint64_t{0}, ~std::uint64_t{0}) == ~std::uint64_t{0} - 1);
    for (int i = 0; i != 1000; ++i) {
        // (2^32 * a + b) * (2^32 * c) has an upper half that 64 bits can compute.
        const std::uint64_t a = next(), b = next(), c = next();
        CHECK(kernel::multiply_high(a << 32 | b, c << 32) == a * c + ((b * c) >> 32));
        const std::uint64_t x = number(), y = number();
        CHECK(kernel::multiply_high(x, y) == kernel::multiply_high(y, x));
        // (2^64 - y) * x = 2^64 * x - y * x
        const std::uint64_t borrow = x * y != 0 ? 1 : 0;
        CHECK(kernel::multiply_high(x, 0 - y) == x - kernel::multiply_high(x, y) - borrow);
    }
}

TEST_CASE("fixed_point_exponential: next to exp in double, over all steps of many scales") {
    generator next(1);
    std::vector<float> scales = {1e-38f, 1e-45f, 1e-20f, 1.0f / 256, 0.1f,
                                 0.5f,   20.0f,  32.0f,  1e30f,      std::numeric_limits<float>::max()};
    for (int i = zp_test::fewer(500); i != 0; --i) scales.push_back(std::exp2(next.real(-14.0f, 5.0f)));
    for (const float scale : scales) {
        for (int steps = 0; steps != 256; ++steps) {
            const double exact = std::exp(-steps * double{scale}) * 0x1p30;
            const double off = std::abs(kernel::fixed_point_exponential(scale, steps) - exact);
            if (!(off <= 0.5 + 0x1p-20)) FAIL("exp(-" << steps << " * " << scale << ") is off by " << off);
        }
    }
}

TEST_CASE("fixed_point_log2: at most 1.2 units too low, never too high") {
    generator next(2);
    for (int i = zp_test::fewer(20000); i != 0; --i) {
        const std::uint64_t x = ((std::uint64_t{next()} << 32 | next()) >> next.integer(0, 63)) | 1;
        // log2 of a double is within 2^-47 here; a number of 64 bits, as a double, is within 2^-53 of itself.
        const double above =
            std::log2(static_cast<double>(x)) * 0x1p26 - static_cast<double>(kernel::fixed_point_log2(x));
        CHECK(above > -1e-5);
        CHECK(above < 1.2);
    }
    for (int bit = 0; bit != 64; ++bit) {
        const std::uint64_t power = std::uint64_t{1} << bit;
        CHECK(kernel::fixed_point_log2(power) == std::int64_t{bit} << 26);
        if (bit > 30) CHECK(kernel::fixed_point_log2(power - 1) < std::int64_t{bit} << 26);
    }
}
