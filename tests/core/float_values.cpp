// SPDX-License-Identifier: BSD-3-Clause
// Infinities and NaN by their bits are those of the standard library.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <zeropoint/core/float_values.hpp>

namespace {

TEST_CASE("core/float_values: infinities and NaN are those of std::numeric_limits") {
    CHECK(zp::infinity == std::numeric_limits<float>::infinity());
    CHECK(zp::double_infinity == std::numeric_limits<double>::infinity());
    CHECK(std::bit_cast<std::uint32_t>(zp::not_a_number) ==
          std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()));
}

TEST_CASE("core/float_values: is_finite is std::isfinite") {
    for (std::uint64_t high = 0; high != 0x10000; ++high) {  // sign, exponent, first bits of the fraction
        for (const std::uint32_t low : {0u, 1u, 0xffffu}) {
            const auto f = std::bit_cast<float>(static_cast<std::uint32_t>(high << 16 | low));
            const auto d = std::bit_cast<double>(high << 48 | low);
            if (zp::is_finite(f) != std::isfinite(f) || zp::is_finite(d) != std::isfinite(d)) FAIL((high << 16 | low));
        }
    }
}

}  // namespace
