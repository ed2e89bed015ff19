// SPDX-License-Identifier: BSD-3-Clause
// Rounding: half to even, exactly, against the hardware's and against plain integer arithmetic.
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <random>

#include <doctest/doctest.h>

#include <zeropoint/core/rounding.hpp>

static_assert(zp::round_half_even(0.5) == 0 && zp::round_half_even(1.5) == 2 && zp::round_half_even(2.5) == 2);
static_assert(zp::round_half_even(-0.5f) == 0 && zp::round_half_even(-1.5f) == -2 && zp::round_half_even(-2.5f) == -2);
static_assert(zp::round_half_even(0.49999997f) == 0 && zp::round_half_even(0.50000006f) == 1);
static_assert(zp::round_half_even(0x1p61) == 1ll << 61 && zp::round_half_even(2147483520.0f) == 2147483520);

TEST_CASE("round_half_even: every float below 2^31 near a tie or an integer, and random ones") {
    std::mt19937_64 random(1);
    for (int i = 0; i != 200000; ++i) {
        const int exponent = static_cast<int>(random() % 35) - 4;
        const float near = std::ldexp(static_cast<float>(random() % 4096) / 2, exponent > 15 ? 15 : exponent);
        float x = i % 3 == 0 ? near : std::nextafter(near, i % 3 == 1 ? 1e30f : -1e30f);
        if (random() % 2 != 0) x = -x;
        REQUIRE(zp::round_half_even(x) == static_cast<std::int32_t>(std::nearbyint(x)));
        REQUIRE(zp::round_half_even(static_cast<double>(x)) ==
                static_cast<std::int64_t>(std::nearbyint(static_cast<double>(x))));
    }
    for (int i = 0; i != 200000; ++i) {
        const auto x = std::bit_cast<double>(random());
        if (!(std::fabs(x) < 0x1p62)) continue;
        REQUIRE(zp::round_half_even(x) == static_cast<std::int64_t>(std::nearbyint(x)));
    }
}

TEST_CASE("round_half_even: does not follow the rounding mode") {
    const int before = std::fegetround();
    std::fesetround(FE_UPWARD);
    volatile float x = 1.25f, y = -1.75f;
    const std::int32_t up = zp::round_half_even(x), down = zp::round_half_even(y);
    std::fesetround(before);
    CHECK(up == 1);
    CHECK(down == -2);
}

TEST_CASE("shift_half_even and divide_half_even: by the definition") {
    for (std::int64_t value = -300; value <= 300; ++value) {
        for (int shift = 0; shift <= 6; ++shift) {
            const double exact = static_cast<double>(value) / static_cast<double>(1 << shift);
            REQUIRE(zp::shift_half_even(value, shift) == static_cast<std::int64_t>(std::nearbyint(exact)));
        }
        for (std::int64_t divisor = 1; divisor <= 16; ++divisor) {
            const double exact = static_cast<double>(value) / static_cast<double>(divisor);
            REQUIRE(zp::divide_half_even(value, divisor) == static_cast<std::int64_t>(std::nearbyint(exact)));
        }
    }
    CHECK(zp::shift_half_even(std::int64_t{3} << 61, 62) == 2);
    CHECK(zp::shift_half_even(-(std::int64_t{1} << 62), 62) == -1);
}
