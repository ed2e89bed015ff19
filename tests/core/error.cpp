// SPDX-License-Identifier: BSD-3-Clause
// Errors: what is thrown, and that it says what it was given.
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <zeropoint/core/error.hpp>

TEST_CASE_TEMPLATE("raise: throws the error asked for, with the message", Error, zp::value_error, zp::shape_error,
                   zp::calibration_error, zp::file_error) {
    CHECK_THROWS_WITH_AS(zp::raise<Error>("expected 1, got 2"), "expected 1, got 2", Error);
    CHECK_THROWS_AS(zp::raise<Error>(""), zp::error);
    CHECK_THROWS_AS(zp::raise<Error>(""), std::runtime_error);
}
