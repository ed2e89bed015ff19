// SPDX-License-Identifier: BSD-3-Clause
// Operations on float bits, against the plain ones.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <zeropoint/scheme/uncontracted.hpp>

static_assert(zp::power_of_two(0) == 1 && zp::power_of_two(-23) == 0x1p-23 && zp::power_of_two(200) == 0x1p200);
static_assert(zp::rounded_product(3, -0.5f) == -1.5f);

TEST_CASE("is_finite: as std::isfinite, for every exponent") {
    for (std::uint32_t high = 0; high != 0x10000; ++high) {
        const auto x = std::bit_cast<float>(high << 16 | 1);
        REQUIRE(zp::is_finite(x) == static_cast<bool>(std::isfinite(x)));
        const auto y = std::bit_cast<double>(static_cast<std::uint64_t>(high) << 48 | 1);
        REQUIRE(zp::is_finite(y) == static_cast<bool>(std::isfinite(y)));
    }
    CHECK_FALSE(zp::is_finite(std::numeric_limits<float>::infinity()));
    CHECK(zp::is_finite(std::numeric_limits<float>::max()));
}

TEST_CASE("rounded_product: the product rounded once to float") {
    std::mt19937_64 random(2);
    const auto any = [&] {
        return std::ldexp(static_cast<float>(static_cast<std::int32_t>(random())),
                          static_cast<int>(random() % 40) - 40);
    };
    for (int i = 0; i != 200000; ++i) {
        const float a = any(), b = any();
        volatile float product = a * b;  // volatile: stored, hence rounded
        REQUIRE(zp::rounded_product(a, b) == product);
    }
    for (int i = 0; i != 1000; ++i) {  // 25 bits: a tie at every odd number
        const float a = static_cast<float>((1 << 23) + i);
        volatile float product = a * 3;
        REQUIRE(zp::rounded_product(a, 3) == product);
        REQUIRE(zp::rounded_product(a, -3) == -product);
    }
    CHECK(std::isnan(zp::rounded_product(0, std::numeric_limits<float>::infinity())));
    CHECK(zp::rounded_product(1e30f, 1e30f) == std::numeric_limits<float>::infinity());
    CHECK(zp::rounded_product(-1e30f, 1e30f) == -std::numeric_limits<float>::infinity());
    CHECK(zp::rounded_product(3.4e38f, 1.0f) == 3.4e38f);
}

TEST_CASE("rounded_product: nothing is left to contract") {
    // (1 + e)^2 = 1 + 2e + e^2 rounds to 1 + 2e; a fused operation would keep e^2.
    volatile float a = 1 + 0x1p-12f, minus = -(1 + 0x1p-11f);
    CHECK(zp::rounded_product(a, a) + minus == 0);
    CHECK(std::fma(a, a, minus) == 0x1p-24f);
}
