// SPDX-License-Identifier: BSD-3-Clause
// Scales and zero points chosen by hand: what codes cannot have is one sentence.
#include <doctest/doctest.h>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/scheme/checked_qparams.hpp>
#include <zeropoint/scheme/requantization.hpp>

#include "../support/errors.hpp"

namespace {

template <class DType, bool IsSymmetric> std::string refused(zp::qparams given) {
    return zp_test::error_of<zp::value_error>(
        [&] { static_cast<void>(zp::checked_qparams<DType, IsSymmetric>(given, "layer fc")); });
}

}  // namespace

TEST_CASE("checked_qparams: a finite scale above 0 and a zero point that is a code, else what was given") {
    const zp::qparams affine{0.5f, 255}, symmetric{0.5f, 0};
    CHECK(&zp::checked_qparams<zp::quint8, false>(affine, "") == &affine);
    CHECK(&zp::checked_qparams<zp::qint8, true>(symmetric, "") == &symmetric);
    CHECK(refused<zp::quint8, false>({0.5f, 256}) ==
          "layer fc: expected a finite scale above 0 and a zero point from 0 to 255, but the scale 0.5 and the zero "
          "point "
          "256 were given");
    CHECK(refused<zp::quint8, false>({0.5f, -1}).find("and the zero point -1 were given") != std::string::npos);
    CHECK(
        refused<zp::qint8, true>({0.5f, 1}) ==
        "layer fc: expected a finite scale above 0 and a zero point of 0, as symmetric schemes have it, but the scale "
        "0.5 and the zero point 1 were given");
    for (const float scale : {0.0f, -1.0f, zp::infinity, zp::not_a_number})
        CHECK(refused<zp::quint8, false>({scale, 0}).find("but the scale " + zp::number_text(scale)) !=
              std::string::npos);
}

TEST_CASE("fits_float: up to the largest float") {
    CHECK(zp::fits_float(3.4028234663852886e38));
    CHECK_FALSE(zp::fits_float(3.402824e38));
    CHECK_FALSE(zp::fits_float(zp::double_infinity));
}
