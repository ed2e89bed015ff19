// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/mul.hpp>
#include <zeropoint/kernel/reference/elementwise.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using arrays::every_pair;
using arrays::grid;

template <class A, class Y>
void compare(const std::vector<A>& a, const std::vector<A>& b, grid of_a, grid of_b, grid of_y, int quant_min,
             int quant_max) {
    const kernel::mul_parameters parameters = kernel::make_mul_parameters(
        of_a.scale, of_a.zero_point, of_b.scale, of_b.zero_point, of_y.scale, of_y.zero_point, quant_min, quant_max);
    std::vector<Y> expected(a.size());
    for (std::size_t i = 0; i != a.size(); ++i)
        expected[i] =
            static_cast<Y>(kernel::reference::mul(a[i], of_a.scale, of_a.zero_point, b[i], of_b.scale, of_b.zero_point,
                                                  of_y.scale, of_y.zero_point, quant_min, quant_max));
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(a.size());
        kernel::mul<Arch>(a.data(), b.data(), a.size(), parameters, y.data());
        CHECK(y == expected);
    });
}

}  // namespace

TEST_CASE("mul: random problems") {
    using namespace binary_problem;
    random_problems(500, 4, []<class A, class Y>(zp_test::generator& next, const auto& a, const auto& b) {
        const operand_grid of_a = random_grid<A>(next), of_b = random_grid<A>(next);
        const output_grid of_y = random_output<Y>(next, 255 * 255 * of_a.scale * of_b.scale);
        compare<A, Y>(a, b, {of_a.scale, of_a.zero_point}, {of_b.scale, of_b.zero_point}, {of_y.scale, of_y.zero_point},
                      of_y.quant_min, of_y.quant_max);
    });
}

TEST_CASE("mul: all pairs of codes, over multipliers from nothing to saturation") {
    const std::vector<std::uint8_t> a = every_pair<std::uint8_t>(true), b = every_pair<std::uint8_t>(false);
    const std::vector<std::int8_t> c = every_pair<std::int8_t>(true), d = every_pair<std::int8_t>(false);
    for (const auto& [a_scale, b_scale, y_scale] : {std::tuple{1.0f, 1.0f, 2.0f},
                                                    {0.017f, 0.5f, 0.4f},
                                                    {1.0f / 255, 1.0f / 255, 1.0f / 255},
                                                    {1e-30f, 1e-30f, 1.0f},
                                                    {1e20f, 1e18f, 1.0f},
                                                    {0.02f, 0.03f, 0.04f}}) {
        compare<std::uint8_t, std::uint8_t>(a, b, {a_scale, 0}, {b_scale, 255}, {y_scale, 128}, 0, 255);
        compare<std::uint8_t, std::uint8_t>(a, b, {a_scale, 7}, {b_scale, 0}, {y_scale, 3}, 3, 255);  // a fused relu
        compare<std::int8_t, std::int8_t>(c, d, {a_scale, 127}, {b_scale, -128}, {y_scale, -5}, -128, 127);
        compare<std::int8_t, std::uint8_t>(c, d, {a_scale, 0}, {b_scale, 1}, {y_scale, 7}, 0, 127);
    }
}

TEST_CASE("mul: the product in real numbers, rounded to the nearest code, ties to the even difference") {
    const auto parameters = kernel::make_mul_parameters(0.5f, 128, 1.0f, 128, 1.0f, 1, 0, 255);
    const std::vector<std::uint8_t> a = {129, 131, 127, 133, 128}, b = {129, 129, 129, 131, 0};
    std::vector<std::uint8_t> y(5);
    kernel::mul<zp::portable>(a.data(), b.data(), 5, parameters, y.data());
    CHECK(y == std::vector<std::uint8_t>{1, 3, 1, 9, 1});  // 0.5, 1.5, -0.5, 7.5, 0
    const auto x = arrays::codes<std::int8_t>(1000, 1), w = arrays::codes<std::int8_t>(1000, 2);
    std::vector<std::int8_t> z(1000);
    kernel::mul<zp::portable>(x.data(), w.data(), 1000,
                              kernel::make_mul_parameters(0.1f, 5, 0.2f, -7, 2.5f, 3, -128, 127), z.data());
    for (std::size_t i = 0; i != z.size(); ++i) {
        const double real = 0.1 * (x[i] - 5) * 0.2 * (w[i] + 7) / 2.5 + 3;
        CHECK(std::abs(z[i] - std::clamp(real, -128.0, 127.0)) < 0.5001);
    }
}

TEST_CASE("mul: every length, unaligned, in place") {
    const grid of_a{0.02f, 3}, of_b{0.03f, 200}, of_y{0.04f, 100};
    const auto parameters = kernel::make_mul_parameters(0.02f, 3, 0.03f, 200, 0.04f, 100, 0, 255);
    for (std::size_t count = 0; count <= 130; ++count) {
        const auto a = arrays::codes<std::uint8_t>(count, count), b = arrays::codes<std::uint8_t>(count, count + 1);
        compare<std::uint8_t, std::uint8_t>(a, b, of_a, of_b, of_y, 0, 255);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::uint8_t> apart(count), in_a(count + 1, 9), in_b = b;
            std::copy(a.begin(), a.end(), in_a.begin() + 1);
            kernel::mul<Arch>(a.data(), b.data(), count, parameters, apart.data());
            kernel::mul<Arch>(in_a.data() + 1, b.data(), count, parameters, in_a.data() + 1);
            kernel::mul<Arch>(a.data(), in_b.data(), count, parameters, in_b.data());
            CHECK(std::vector<std::uint8_t>(in_a.begin() + 1, in_a.end()) == apart);
            CHECK(in_a[0] == 9);
            CHECK(in_b == apart);
        });
    }
}

TEST_CASE("make_mul_parameters: scales that cannot be meant") {
    static_assert(kernel::make_mul_parameters(0.5f, 0, 0.5f, 0, 1.0f, 0, 0, 255).multiplier == 0.25f);
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(kernel::make_mul_parameters(bad, 0, 1.0f, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_mul_parameters(1.0f, 0, bad, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_mul_parameters(1.0f, 0, 1.0f, 0, bad, 0, 0, 255), zp::value_error);
    }
    CHECK_THROWS_AS(kernel::make_mul_parameters(1e30f, 0, 1e30f, 0, 1.0f, 0, 0, 255), zp::value_error);
}
