// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <zeropoint/core/number_text.hpp>

TEST_CASE("number_text: as few digits as tell a number from its neighbours") {
    CHECK(zp::number_text(0.1f) == "0.1");
    CHECK(zp::number_text(0.1) == "0.1");
    CHECK(zp::number_text(double{0.1f}) == "0.10000000149011612");
    CHECK(zp::number_text(0.0f) == "0");
    CHECK(zp::number_text(-255.0f) == "-255");
    CHECK(zp::number_text(-1e-30f) == "-1e-30");
    CHECK(zp::number_text(std::numeric_limits<float>::max()) == "3.4028235e+38");
    CHECK(zp::number_text(std::numeric_limits<float>::denorm_min()) == "1e-45");
    CHECK(zp::number_text(-std::numeric_limits<float>::quiet_NaN()) == "nan");
    CHECK(zp::number_text(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("number_text: a float reads back as itself") {
    float x = 1e-38f;
    for (int i = 0; i != 2000; ++i, x = std::nextafter(x * 1.0905f, 1e38f))
        REQUIRE(std::strtof(zp::number_text(x).c_str(), nullptr) == x);
}
