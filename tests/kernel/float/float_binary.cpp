// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/float/float_binary.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
namespace binary = kernel::binary;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class Function, class Define>
void check(const std::vector<float>& a, const std::vector<float>& b, float low, float high, Define define) {
    std::vector<float> expected(a.size());
    for (std::size_t i = 0; i != a.size(); ++i) {
        const float value = define(a[i], b[i]);
        expected[i] = std::isnan(value) ? value : std::min(std::max(value, low), high);
    }
    const auto same = [&](const std::vector<float>& y) {
        for (std::size_t i = 0; i != y.size(); ++i)
            if (!(y[i] == expected[i] || (std::isnan(y[i]) && std::isnan(expected[i])))) return false;
        return true;
    };
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<float> y(a.size()), over_a = a, over_b = b;
        kernel::float_binary<Arch, Function>(a.data(), b.data(), a.size(), low, high, y.data());
        kernel::float_binary<Arch, Function>(over_a.data(), b.data(), a.size(), low, high, over_a.data());
        kernel::float_binary<Arch, Function>(a.data(), over_b.data(), a.size(), low, high, over_b.data());
        CHECK(same(y));
        CHECK(same(over_a));
        CHECK(same(over_b));
    });
}

void check_all(const std::vector<float>& a, const std::vector<float>& b, float low, float high) {
    check<binary::add>(a, b, low, high, [](float x, float y) { return x + y; });
    check<binary::sub>(a, b, low, high, [](float x, float y) { return x - y; });
    check<binary::mul>(a, b, low, high, [](float x, float y) { return x * y; });
    check<binary::div>(a, b, low, high, [](float x, float y) { return x / y; });
    check<binary::maximum>(a, b, low, high, [](float x, float y) { return x > y || std::isnan(x) ? x : y; });
    check<binary::minimum>(a, b, low, high, [](float x, float y) { return x < y || std::isnan(x) ? x : y; });
    check<binary::hypot>(a, b, low, high, [](float x, float y) {
        const volatile float u = x * x, v = y * y;  // not contracted
        return std::sqrt(u + v);
    });
    check<binary::squared_difference>(a, b, low, high, [](float x, float y) { return (x - y) * (x - y); });
}

}  // namespace

TEST_CASE("float_binary: every length, with bounds and without, in place") {
    for (std::size_t count = 0; count <= 70; ++count) {
        const auto a = arrays::reals(count, count), b = arrays::reals(count, count + 1000);
        check_all(a, b, -zp::infinity, zp::infinity);
        check_all(a, b, 0.0f, 6.0f);
    }
}

TEST_CASE("float_binary: infinities, zeros and NaNs wherever they stand") {
    const float values[] = {0.0f, -0.0f, 1.0f, -3.0f, zp::infinity, -zp::infinity, not_a_number, 1e-40f, 3e38f};
    std::vector<float> a, b;
    for (const float x : values)
        for (const float y : values) a.push_back(x), b.push_back(y);
    check_all(a, b, -zp::infinity, zp::infinity);
    check_all(a, b, 0.0f, 6.0f);
}
