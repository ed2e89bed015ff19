// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/squared_difference.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

kernel::squared_difference_parameters parameters_of(const operand_grid& a, const operand_grid& b,
                                                    const output_grid& y) {
    return kernel::make_squared_difference_parameters(a.scale, a.zero_point, b.scale, b.zero_point, y.scale,
                                                      y.zero_point, y.quant_min, y.quant_max);
}

template <class A, class Y>
void check(const std::vector<A>& a, const std::vector<A>& b, const operand_grid& of_a, const operand_grid& of_b,
           const output_grid& of_y) {
    const kernel::squared_difference_parameters parameters = parameters_of(of_a, of_b, of_y);
    compare<A, Y>(
        a, b,
        [&](int x, int z) {
            const int code = reference::squared_difference(x, of_a, z, of_b, of_y);
            const double difference = real(x, of_a) - real(z, of_b);
            CHECK(distance(code, difference * difference, of_y) < 1e-2);
            return code;
        },
        [&]<class Arch>(const A* x, const A* z, std::size_t count, Y* y) {
            kernel::squared_difference<Arch>(x, z, count, parameters, y);
        });
}

}  // namespace

TEST_CASE("squared_difference: random problems") {
    random_problems(500, 21, []<class A, class Y>(zp_test::generator& next, const auto& a, const auto& b) {
        const operand_grid of_a = random_grid<A>(next), of_b = random_grid<A>(next);
        const float larger = std::max(of_a.scale, of_b.scale);
        check<A, Y>(a, b, of_a, of_b, random_output<Y>(next, 65025 * larger * larger));
    });
}

TEST_CASE("squared_difference: all pairs of codes, ties among them, over multipliers from nothing to saturation") {
    const auto a = arrays::every_pair<std::int8_t>(true), b = arrays::every_pair<std::int8_t>(false);
    check<std::int8_t, std::int8_t>(a, b, {1.0f, -128}, {1.0f, 127}, {2.0f, 3, -128, 127});
    check<std::int8_t, std::int8_t>(a, b, {1.0f, 0}, {1.0f, 0}, {512.0f, -128, -128, 127});
    check<std::int8_t, std::int8_t>(a, b, {0.5f, 127}, {3.0f, -128}, {2048.0f, -5, -100, 100});
    check<std::int8_t, std::uint8_t>(a, b, {1e-18f, 0}, {1e-25f, 0}, {1e-30f, 7, 0, 255});
    check<std::int8_t, std::uint8_t>(a, b, {1e-22f, 0}, {1e-25f, 0}, {1e30f, 7, 0, 255});
}

TEST_CASE("make_squared_difference_parameters: scales that cannot be meant") {
    constexpr auto equal = kernel::make_squared_difference_parameters(0.5f, 0, 0.5f, 0, 0.25f, 0, 0, 255);
    static_assert(equal.a_multiplier == 1 << 22 && equal.b_multiplier == 1 << 22 && equal.multiplier == 0x1p-44f);
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(kernel::make_squared_difference_parameters(bad, 0, 1.0f, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_squared_difference_parameters(1.0f, 0, bad, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_squared_difference_parameters(1.0f, 0, 1.0f, 0, bad, 0, 0, 255), zp::value_error);
    }
    CHECK_THROWS_AS(kernel::make_squared_difference_parameters(1e30f, 0, 1.0f, 0, 1.0f, 0, 0, 255), zp::value_error);
}
