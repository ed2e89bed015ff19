// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/max_min.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

/// The table that takes an operand to the output's grid; none where it is on it.
template <class A, class Y> std::vector<Y> table_of(const operand_grid& x, const output_grid& y) {
    std::vector<Y> table;
    if (std::is_same_v<A, Y> && x.scale == y.scale && x.zero_point == y.zero_point) return table;
    table.resize(kernel::lookup_table_size);
    kernel::make_lookup_table<A>([](double v) { return v; }, x.scale, x.zero_point, y.scale, y.zero_point, y.quant_min,
                                 y.quant_max, table.data());
    return table;
}

template <class A, class Y>
void check(const std::vector<A>& a, const std::vector<A>& b, const operand_grid& of_a, const operand_grid& of_b,
           const output_grid& of_y) {
    const std::vector<Y> a_table = table_of<A, Y>(of_a, of_y), b_table = table_of<A, Y>(of_b, of_y);
    const Y* of_first = a_table.empty() ? nullptr : a_table.data();
    const Y* of_second = b_table.empty() ? nullptr : b_table.data();
    const auto low = static_cast<Y>(of_y.quant_min), high = static_cast<Y>(of_y.quant_max);
    compare<A, Y>(
        a, b,
        [&](int x, int z) {
            const int code = reference::maximum(x, of_a, z, of_b, of_y);
            CHECK(distance(code, std::max(real(x, of_a), real(z, of_b)), of_y) < 1e-9);
            return code;
        },
        [&]<class Arch>(const A* x, const A* z, std::size_t count, Y* y) {
            kernel::extremum<Arch, kernel::larger_of>(x, z, count, of_first, of_second, low, high, y);
        });
    compare<A, Y>(
        a, b,
        [&](int x, int z) {
            const int code = reference::minimum(x, of_a, z, of_b, of_y);
            CHECK(distance(code, std::min(real(x, of_a), real(z, of_b)), of_y) < 1e-9);
            return code;
        },
        [&]<class Arch>(const A* x, const A* z, std::size_t count, Y* y) {
            kernel::extremum<Arch, kernel::smaller_of>(x, z, count, of_first, of_second, low, high, y);
        });
}

}  // namespace

TEST_CASE("maximum, minimum: random problems, operands on the output's grid among them") {
    random_problems(500, 31, []<class A, class Y>(zp_test::generator& next, const auto& a, const auto& b) {
        operand_grid of_a = random_grid<A>(next), of_b = random_grid<A>(next);
        const output_grid of_y = random_output<Y>(next, 200 * std::max(of_a.scale, of_b.scale));
        if (std::is_same_v<A, Y> && next.integer(0, 2) == 0) of_a = {of_y.scale, of_y.zero_point};
        if (std::is_same_v<A, Y> && next.integer(0, 2) == 0) of_b = {of_y.scale, of_y.zero_point};
        check<A, Y>(a, b, of_a, of_b, of_y);
    });
}

TEST_CASE("maximum, minimum: all pairs of codes, ties among them") {
    const auto a = arrays::every_pair<std::int8_t>(true), b = arrays::every_pair<std::int8_t>(false);
    check<std::int8_t, std::int8_t>(a, b, {1.0f, -128}, {0.5f, 127}, {2.0f, 3, -128, 127});
    check<std::int8_t, std::int8_t>(a, b, {1.0f, 4}, {1.0f, 4}, {1.0f, 4, -128, 127});
    check<std::int8_t, std::int8_t>(a, b, {1.0f, 4}, {2.0f, 4}, {1.0f, 4, 4, 100});
    check<std::int8_t, std::uint8_t>(a, b, {1.0f, 0}, {4.0f, 0}, {0.1f, 7, 0, 255});
}

TEST_CASE("larger_of, smaller_of: a NaN wins in floats, in either operand") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(kernel::larger_of{}(nan, 1.0f)));
    CHECK(std::isnan(kernel::larger_of{}(1.0f, nan)));
    CHECK(std::isnan(kernel::smaller_of{}(nan, 1.0f)));
    CHECK(std::isnan(kernel::smaller_of{}(1.0f, nan)));
    CHECK(kernel::larger_of{}(1.0f, 2.0f) == 2.0f);
    CHECK(kernel::smaller_of{}(1.0f, 2.0f) == 1.0f);
}
