// SPDX-License-Identifier: BSD-3-Clause
// Extents of one activation.
#include <doctest/doctest.h>

#include <zeropoint/core/shape.hpp>

static_assert(zp::shape{8, 4, 3}.size() == 96 && zp::shape{8, 4, 3}.pixels() == 32 && zp::shape{}.size() == 1);
static_assert(zp::shape{1, 2, 3} == zp::shape{1, 2, 3} && zp::shape{1, 2, 3} != zp::shape{1, 3, 2});

TEST_CASE("shape: reads height x width x channels") { CHECK(zp::to_string(zp::shape{8, 4, 3}) == "8x4x3"); }
