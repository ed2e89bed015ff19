// SPDX-License-Identifier: BSD-3-Clause
// Scale and zero point: which are valid.
#include <limits>

#include <doctest/doctest.h>

#include <zeropoint/scheme/qparams.hpp>

static_assert(zp::is_valid<zp::quint8>({0.1f, 0}) && zp::is_valid<zp::quint8>({0.1f, 255}));
static_assert(!zp::is_valid<zp::quint8>({0.1f, 256}) && !zp::is_valid<zp::quint8>({0.1f, -1}));
static_assert(zp::is_valid<zp::qint8_narrow>({1e-45f, -127}) && !zp::is_valid<zp::qint8_narrow>({1, -128}));
static_assert(!zp::is_valid<zp::quint8>({0, 0}) && !zp::is_valid<zp::quint8>({-1, 0}));

TEST_CASE("qparams: a scale is finite and positive") {
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(zp::is_valid({infinity, 0}, 0, 255));
    CHECK_FALSE(zp::is_valid({-infinity, 0}, 0, 255));
    CHECK_FALSE(zp::is_valid({nan, 0}, 0, 255));
    CHECK(zp::is_valid({std::numeric_limits<float>::max(), 3}, 3, 3));
    CHECK(zp::qparams{0.5f, 3} == zp::qparams{0.5f, 3});
    CHECK(zp::qparams{0.5f, 3} != zp::qparams{0.5f, 4});
}
