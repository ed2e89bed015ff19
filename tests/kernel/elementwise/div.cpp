// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/div.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

kernel::div_parameters parameters_of(const operand_grid& a, const operand_grid& b, const output_grid& y) {
    return kernel::make_div_parameters(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point, y.quant_min,
                                       y.quant_max);
}

template <class A, class Y>
void check(const std::vector<A>& a, const std::vector<A>& b, const operand_grid& of_a, const operand_grid& of_b,
           const output_grid& of_y) {
    const kernel::div_parameters parameters = parameters_of(of_a, of_b, of_y);
    compare<A, Y>(
        a, b,
        [&](int x, int z) {
            const int code = reference::div(x, of_a, z, of_b, of_y);
            if (z != of_b.zero_point) CHECK(distance(code, real(x, of_a) / real(z, of_b), of_y) < 1e-3);
            return code;
        },
        [&]<class Arch>(const A* x, const A* z, std::size_t count, Y* y) {
            kernel::div<Arch>(x, z, count, parameters, y);
        });
}

}  // namespace

TEST_CASE("div: random problems") {
    random_problems(500, 11, []<class A, class Y>(zp_test::generator& next, const auto& a, const auto& b) {
        const operand_grid of_a = random_grid<A>(next), of_b = random_grid<A>(next);
        check<A, Y>(a, b, of_a, of_b, random_output<Y>(next, 16 * of_a.scale / of_b.scale));
    });
}

TEST_CASE("div: all pairs of codes, ties among them, over multipliers from nothing to saturation") {
    const auto a = arrays::every_pair<std::uint8_t>(true), b = arrays::every_pair<std::uint8_t>(false);
    for (const float scale : {1.0f, 0.25f, 1.0f / 64, 0.037f, 1e-30f, 1e30f, 1e-7f}) {
        check<std::uint8_t, std::uint8_t>(a, b, {scale, 0}, {1.0f, 255}, {0.5f, 128, 0, 255});
        check<std::uint8_t, std::uint8_t>(a, b, {scale, 128}, {0.03f, 127}, {0.5f, 3, 3, 255});
        check<std::uint8_t, std::int8_t>(a, b, {scale, 255}, {1.0f, 0}, {0.5f, -128, -100, 100});
    }
}

TEST_CASE("div: by zero gives the bound of the sign, 0 / 0 the zero point within the bounds") {
    for (const float scale : {1.0f, 1e-38f, 1e30f}) {
        const std::vector<std::int8_t> a = {5, 6, 4, 127, -128}, b(5, -3);
        const auto quotients = [&](int quant_min, int quant_max) {
            const auto parameters = kernel::make_div_parameters(scale, 5, 1.0f, -3, 1.0f, 10, quant_min, quant_max);
            std::vector<std::int8_t> y(5);
            kernel::div<zp::portable>(a.data(), b.data(), 5, parameters, y.data());
            return y;
        };
        CHECK(quotients(-128, 127) == std::vector<std::int8_t>{10, 127, -128, 127, -128});
        CHECK(quotients(10, 100) == std::vector<std::int8_t>{10, 100, 10, 100, 10});
        CHECK(quotients(20, 30) == std::vector<std::int8_t>{20, 30, 20, 30, 20});
    }
}

TEST_CASE("make_div_parameters: scales that cannot be meant") {
    static_assert(kernel::make_div_parameters(1.0f, 0, 0.5f, 0, 0.25f, 0, 0, 255).multiplier == 8.0f);
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(kernel::make_div_parameters(bad, 0, 1.0f, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_div_parameters(1.0f, 0, bad, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_div_parameters(1.0f, 0, 1.0f, 0, bad, 0, 0, 255), zp::value_error);
    }
    CHECK_THROWS_AS(kernel::make_div_parameters(1e30f, 0, 1e-5f, 0, 1e-5f, 0, 0, 255), zp::value_error);
}
