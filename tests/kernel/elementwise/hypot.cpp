// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/hypot.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

template <class Number>
kernel::hypot_parameters<Number> parameters_of(const operand_grid& a, const operand_grid& b, const output_grid& y) {
    return kernel::make_hypot_parameters<Number>(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point,
                                                 y.quant_min, y.quant_max);
}

template <class A, class Y>
void check(const std::vector<A>& a, const std::vector<A>& b, const operand_grid& of_a, const operand_grid& of_b,
           const output_grid& of_y) {
    using Number = std::conditional_t<sizeof(A) == 2, double, float>;
    const kernel::hypot_parameters<Number> parameters = parameters_of<Number>(of_a, of_b, of_y);
    compare<A, Y>(
        a, b,
        [&](int x, int z) {
            const int code = reference::hypot<Number>(x, of_a, z, of_b, of_y);
            CHECK(distance(code, std::hypot(real(x, of_a), real(z, of_b)), of_y) < (sizeof(A) == 2 ? 1e-9 : 1e-4));
            return code;
        },
        [&]<class Arch>(const A* x, const A* z, std::size_t count, Y* y) {
            kernel::hypot<Arch>(x, z, count, parameters, y);
        });
}

}  // namespace

TEST_CASE("hypot: random problems") {
    random_problems(500, 31, []<class A, class Y>(zp_test::generator& next, const auto& a, const auto& b) {
        const operand_grid of_a = random_grid<A>(next), of_b = random_grid<A>(next);
        check<A, Y>(a, b, of_a, of_b, random_output<Y>(next, 360 * std::max(of_a.scale, of_b.scale)));
    });
}

TEST_CASE("hypot: all pairs of codes, ties among them, over multipliers from nothing to saturation") {
    const auto a = arrays::every_pair<std::int8_t>(true), b = arrays::every_pair<std::int8_t>(false);
    check<std::int8_t, std::int8_t>(a, b, {1.0f, -128}, {1.0f, 127}, {2.0f, 3, -128, 127});  // 3, 4 and 5 among them
    check<std::int8_t, std::int8_t>(a, b, {1.0f, 0}, {1.0f, 0}, {0.5f, -128, -128, 127});
    check<std::int8_t, std::int8_t>(a, b, {0.5f, 127}, {3.0f, -128}, {6.0f, -5, -100, 100});
    check<std::int8_t, std::uint8_t>(a, b, {1e-18f, 0}, {1e-38f, 0}, {1e-24f, 7, 0, 255});
    check<std::int8_t, std::uint8_t>(a, b, {1e-22f, 0}, {1e-25f, 0}, {1e30f, 7, 0, 255});
}

TEST_CASE("hypot: 16 bits, the ends of the range among them") {
    zp_test::generator next(32);
    for (int i = 0; i != zp_test::fewer(200); ++i) {
        std::vector<std::int16_t> a(131), b(131);
        for (auto* codes : {&a, &b})
            for (std::int16_t& code : *codes)
                code = static_cast<std::int16_t>(next.integer(0, 4) == 0   ? -32768
                                                 : next.integer(0, 4) == 0 ? 32767
                                                                           : next.integer(-32768, 32767));
        const operand_grid of_a{random_scale(next), 0}, of_b{i % 3 == 0 ? of_a.scale : random_scale(next), 0};
        output_grid of_y{std::max(of_a.scale, of_b.scale) * std::exp2(next.real(-2, 2)), 0, -32768, 32767};
        if (i % 4 == 0) of_y.scale = 2 * of_a.scale, of_y.quant_max = next.integer(0, 32767);
        check<std::int16_t, std::int16_t>(a, b, of_a, of_b, of_y);
    }
    // 1.5, 2.5 and 3.5 go to the even code.
    check<std::int16_t, std::int16_t>({3, 4, 0, -5, 7}, {0, 3, 5, 0, 0}, {0.25f, 0}, {0.25f, 0},
                                      {0.5f, 0, -32768, 32767});
    std::int16_t y[3];
    const std::int16_t a[] = {3, -4, 7}, b[] = {0, 3, 0};
    kernel::hypot<zp::default_architecture>(a, b, 3,
                                            kernel::make_hypot_parameters<double>(1, 0, 1, 0, 2, 0, -32768, 32767), y);
    CHECK(y[0] == 2);
    CHECK(y[1] == 2);
    CHECK(y[2] == 4);
}

TEST_CASE("make_hypot_parameters: scales that cannot be meant") {
    constexpr auto equal = kernel::make_hypot_parameters<float>(0.5f, 0, 0.25f, 0, 0.125f, 0, 0, 255);
    static_assert(equal.a_factor == 1 && equal.b_factor == 0.5f && equal.multiplier == 4);
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(kernel::make_hypot_parameters<float>(bad, 0, 1.0f, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_hypot_parameters<float>(1.0f, 0, bad, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_hypot_parameters<double>(1.0f, 0, 1.0f, 0, bad, 0, 0, 255), zp::value_error);
    }
    CHECK_THROWS_AS(kernel::make_hypot_parameters<float>(3e6f, 0, 1.0f, 0, 1.0f, 0, 0, 255), zp::value_error);
}
