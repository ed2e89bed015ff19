// SPDX-License-Identifier: BSD-3-Clause
// The placeholder: counts, and refuses to choose.
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "every_observer.hpp"

TEST_CASE("placeholder_observer: counts, looks at nothing, and has no qparams") {
    zp::placeholder_observer observer, other;
    const std::vector<float> values = {1, std::numeric_limits<float>::quiet_NaN()};
    observer.observe(batch(values));
    other.observe(batch(values));
    observer.merge(other);
    CHECK(observer.samples() == 2);
    CHECK(observer.count() == 4);
    CHECK(observer.range().empty());
    CHECK_THROWS_WITH_AS((void)affine(observer),
                         "conv1: placeholder_observer keeps no range, so there is no scale to choose: take an observer "
                         "such as min_max_observer, or keep this layer float",
                         zp::calibration_error);
}
