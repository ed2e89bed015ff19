// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/axis_products.hpp>
#include <zeropoint/kernel/reference/reduction.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

std::size_t size_of(const zp::shape& s) { return static_cast<std::size_t>(s.size()); }

template <class T> void random_problem(zp_test::generator& next, int number) {
    const zp::shape in{next.integer(1, 3), next.integer(1, 3), next.integer(1, 4)};
    const zp::shape out{(number & 1) != 0 ? 1 : in.height, (number & 2) != 0 ? 1 : in.width,
                        (number & 4) != 0 ? 1 : in.channels};
    const int n = in.size() / out.size(), x_zero_point = random_code<T>(next);
    const float x_scale = std::exp2(next.real(-7, -4));
    const auto largest = static_cast<float>(std::pow(128 * double{x_scale}, n));
    const output_grid of_y = random_output<T>(next, largest);
    const auto x = arrays::codes<T>(size_of(in), next());
    std::vector<T> expected(size_of(out)), y(size_of(out));
    reference::product_along(in, out, x.data(), x_zero_point, x_scale, of_y, expected.data());
    const auto parameters = kernel::make_product_parameters(n, x_scale, x_zero_point, of_y.scale, of_y.zero_point,
                                                            of_y.quant_min, of_y.quant_max);
    kernel::product_along<zp::default_architecture>(in, out, x.data(), parameters, y.data());
    CHECK(y == expected);
    const auto together = reference::values_together(in, out, x.data());
    for (std::size_t i = 0; i != y.size(); ++i) {
        double real_product = 1;
        for (const T code : together[i]) real_product *= double{x_scale} * (code - x_zero_point);
        CHECK(distance(y[i], real_product, of_y) < 1e-9);
    }
}

}  // namespace

TEST_CASE("product_along: random problems, all sets of axes") {
    zp_test::generator next(99);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        random_problem<std::uint8_t>(next, i);
        random_problem<std::int8_t>(next, i);
    }
}

TEST_CASE("product_along: products that no double holds on their way") {
    std::vector<std::uint8_t> x(1000, 2);
    std::fill_n(x.begin(), 500, std::uint8_t{128});
    const zp::shape in{10, 10, 10};
    const auto parameters = kernel::make_product_parameters(1000, 1.0f / 256, 0, 1.0f, 3, 0, 255);  // 2^-4000
    std::uint8_t y = 77;
    kernel::product_along<zp::default_architecture>(in, {1, 1, 1}, x.data(), parameters, &y);
    CHECK(y == 3);
    const auto whole = kernel::make_product_parameters(1000, 1.0f / 16, 0, 0.5f, 3, 0, 255);  // 8^500 * (1 / 8)^500 = 1
    kernel::product_along<zp::default_architecture>(in, {1, 1, 1}, x.data(), whole, &y);
    CHECK(y == 5);
    x[700] = 4;
    kernel::product_along<zp::default_architecture>(in, {1, 1, 1}, x.data(), whole, &y);
    CHECK(y == 7);
    x[701] = 255;
    kernel::product_along<zp::default_architecture>(in, {1, 1, 1}, x.data(), whole, &y);
    CHECK(y == 255);
    x[3] = 0;
    kernel::product_along<zp::default_architecture>(in, {1, 1, 1}, x.data(), whole, &y);
    CHECK(y == 3);
}

TEST_CASE("product_along: floats") {
    const std::vector<float> x = {2, -3, 0.5f, 4, 1e30f, 1e30f};
    std::vector<float> y(3);
    kernel::product_along<zp::default_architecture>({1, 2, 3}, {1, 1, 3}, -zp::infinity, zp::infinity, x.data(),
                                                    y.data());
    CHECK(y == std::vector<float>{8, -3 * 1e30f, 0.5f * 1e30f});
    kernel::product_along<zp::default_architecture>({1, 2, 3}, {1, 2, 1}, 0, 6, x.data(), y.data());
    CHECK(y[0] == 0);
    CHECK(y[1] == 6);
    kernel::product_along<zp::default_architecture>({1, 1, 2}, {1, 1, 1}, -zp::infinity, zp::infinity, x.data() + 4,
                                                    y.data());
    CHECK(y[0] == zp::infinity);
}

TEST_CASE("make_product_parameters: scales that cannot be meant") {
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(kernel::make_product_parameters(2, bad, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_product_parameters(2, 1.0f, 0, bad, 0, 0, 255), zp::value_error);
    }
    static_assert(kernel::make_product_parameters(2, 0.5f, 0, 2.0f, 0, 0, 255).factor.value() == 0.125);
}
