// SPDX-License-Identifier: BSD-3-Clause
// Fixed qparams: what was given.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "every_observer.hpp"

TEST_CASE("fixed_qparams_observer: data changes nothing, and none is needed") {
    fixed_observer observer;
    CHECK(affine(observer) == zp::qparams{0.5f, 3});
    const std::vector<float> values = {-100, 100};
    observer.observe(batch(values));
    CHECK(affine(observer) == zp::qparams{0.5f, 3});
    CHECK(observer.range() == zp::observed_range{-100, 100});
}
