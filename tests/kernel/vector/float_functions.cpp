// SPDX-License-Identifier: BSD-3-Clause
// exp, erf and gelu in float: near the real functions, and the same bits from vectors as from scalars.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/vector/batch_group.hpp>
#include <zeropoint/kernel/vector/float_functions.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

/// Values of all sizes, both signs.
std::vector<float> arguments() {
    std::vector<float> x = {0.0f,     -0.0f,     87.0f,    -87.0f,       88.0f,        -88.0f, 3.95f,
                            -3.95f,   1e-30f,    -1e-6f,   100.0f,       -100.0f,      3e38f,  -3e38f,
                            0.34657f, -0.34658f, 1.03972f, zp::infinity, -zp::infinity};
    for (const float size : {1e-3f, 0.5f, 4.0f, 90.0f}) {
        const auto more = arrays::reals(500, 3, -size, size);
        x.insert(x.end(), more.begin(), more.end());
    }
    return x;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    bool all = a.size() == b.size();
    for (std::size_t i = 0; i != a.size() && all; ++i)
        all = std::isnan(a[i]) ? std::isnan(b[i]) : std::memcmp(&a[i], &b[i], sizeof a[i]) == 0;
    return all;
}

}  // namespace

TEST_CASE("float_functions: near the real functions") {
    for (const float x : arguments()) {
        CAPTURE(x);
        if (x <= 0) {
            const double exact = std::exp(double{x}), y = double{kernel::exp_of_nonpositive(x)};
            if (x < -87) CHECK(y == 0);
            else CHECK(std::abs(y - exact) <= 3e-7 * exact);
        }
        if (std::isinf(x)) continue;
        const double gelu = 0.5 * double{x} * (1 + std::erf(double{x} / std::numbers::sqrt2));
        CHECK(std::abs(double{kernel::bounded_gelu(x)} - gelu) <= 4e-7 * std::max(1e-30, std::abs(double{x})));
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(kernel::exp_of_nonpositive(nan)));
    CHECK(std::isnan(kernel::bounded_gelu(nan)));
    CHECK(kernel::exp_of_nonpositive(0.0f) == 1.0f);
    for (const float x : {5.3f, 5.5f, 100.0f, 1e30f}) {
        CHECK(kernel::bounded_gelu(x) == x);
        CHECK(kernel::bounded_gelu(-x) == 0.0f);
    }
}

TEST_CASE("float_functions: vectors have the bits of scalars") {
    auto all = arguments();
    all.push_back(std::numeric_limits<float>::quiet_NaN());
    all.resize(2048 + 5);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<float> x = all;
        for (const bool gelu : {true, false}) {
            const auto apply = [&](auto value) {
                return gelu ? kernel::bounded_gelu(value) : kernel::exp_of_nonpositive(value);
            };
            if (!gelu)
                for (float& value : x) value = -std::abs(value);
            std::vector<float> scalar(x.size()), vector(x.size());
            for (std::size_t i = 0; i != x.size(); ++i) scalar[i] = apply(x[i]);
            kernel::for_each_number<Arch>(x.size(), [&](std::size_t i, auto number) {
                kernel::store_number(apply(kernel::load_number<decltype(number)>(x.data() + i)), vector.data() + i);
            });
            std::vector<float> group(x.size());
            kernel::for_each_group<Arch>(x.size(), [&](std::size_t i, auto number) {
                kernel::store_number(apply(kernel::load_number<decltype(number)>(x.data() + i)), group.data() + i);
            });
            CAPTURE(gelu);
            CHECK(same_bits(scalar, vector));
            CHECK(same_bits(scalar, group));
        }
    });
}
