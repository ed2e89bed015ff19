// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/add.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

kernel::add_parameters parameters_of(const operand_grid& a, const operand_grid& b, const output_grid& y) {
    return kernel::make_sub_parameters(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point, y.quant_min,
                                       y.quant_max);
}

template <class A, class Y>
void check(const std::vector<A>& a, const std::vector<A>& b, const operand_grid& of_a, const operand_grid& of_b,
           const output_grid& of_y) {
    const kernel::add_parameters parameters = parameters_of(of_a, of_b, of_y);
    compare<A, Y>(
        a, b,
        [&](int x, int z) {
            const int code = reference::sub(x, of_a, z, of_b, of_y);
            CHECK(distance(code, real(x, of_a) - real(z, of_b), of_y) < 1e-3);
            return code;
        },
        [&]<class Arch>(const A* x, const A* z, std::size_t count, Y* y) {
            kernel::sub<Arch>(x, z, count, parameters, y);
        });
}

}  // namespace

TEST_CASE("sub: random problems") {
    random_problems(500, 1, []<class A, class Y>(zp_test::generator& next, const auto& a, const auto& b) {
        const operand_grid of_a = random_grid<A>(next), of_b = random_grid<A>(next);
        const output_grid of_y = random_output<Y>(next, 255 * std::max(of_a.scale, of_b.scale));
        check<A, Y>(a, b, of_a, of_b, of_y);
    });
}

TEST_CASE("sub: all pairs of codes, ties among them") {
    const auto a = arrays::every_pair<std::int8_t>(true), b = arrays::every_pair<std::int8_t>(false);
    check<std::int8_t, std::int8_t>(a, b, {1.0f, -128}, {1.0f, 127}, {2.0f, 3, -128, 127});
    check<std::int8_t, std::int8_t>(a, b, {0.5f, 127}, {3.0f, -128}, {4.0f, -5, -5, 127});
    check<std::int8_t, std::uint8_t>(a, b, {1e-20f, 0}, {1e-25f, 0}, {1.0f, 7, 0, 255});
}

TEST_CASE("sub: the second operand is taken from the first") {
    const auto parameters = kernel::make_sub_parameters(1.0f, 10, 0.5f, 20, 0.25f, 100, 0, 255);
    const std::vector<std::uint8_t> a = {10, 20, 10, 255}, b = {20, 20, 40, 20};
    std::vector<std::uint8_t> y(4);
    kernel::sub<zp::portable>(a.data(), b.data(), 4, parameters, y.data());
    CHECK(y == std::vector<std::uint8_t>{100, 140, 60, 255});
    CHECK_THROWS_AS(kernel::make_sub_parameters(1.0f, 0, 0x1p21f, 0, 1.0f, 0, 0, 255), zp::value_error);
}
