// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/elementwise/compare.hpp>
#include <zeropoint/kernel/float/float_binary.hpp>
#include <zeropoint/kernel/reference/compare.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using kernel::comparison;
using namespace binary_problem;

template <class T>
void check(const std::vector<T>& a, const std::vector<T>& b, const operand_grid& of_a, const operand_grid& of_b) {
    const auto each = [&]<comparison Which>() {
        constexpr auto name = kernel::name_of(Which);
        CAPTURE(name);
        CAPTURE(of_a.scale);
        CAPTURE(of_b.scale);
        const auto made =
            kernel::make_code_comparison<Which, T>(of_a.scale, of_a.zero_point, of_b.scale, of_b.zero_point);
        compare<T, T>(
            a, b,
            [&](int x, int z) {
                return reference::compare(Which, x, of_a.scale, of_a.zero_point, z, of_b.scale, of_b.zero_point);
            },
            [&]<class Arch>(const T* x, const T* z, std::size_t count, T* y) {
                kernel::compare_codes<Arch, Which>(x, z, count, made, y);
            });
    };
    each.template operator()<comparison::equal>();
    each.template operator()<comparison::not_equal>();
    each.template operator()<comparison::less>();
    each.template operator()<comparison::less_equal>();
    each.template operator()<comparison::greater>();
    each.template operator()<comparison::greater_equal>();
}

}  // namespace

TEST_CASE("compare_codes: random problems, equal numbers of different grids among them") {
    zp_test::generator next(71);
    const auto problem = [&]<class T>(T) {
        const auto length =
            static_cast<std::size_t>(next.integer(0, 5) == 0 ? next.integer(513, 1200) : next.integer(0, 140));
        operand_grid of_a = random_grid<T>(next), of_b = random_grid<T>(next);
        const int kind = next.integer(0, 4);
        if (kind == 0) of_b = of_a;
        if (kind == 1) of_b.scale = of_a.scale;
        if (kind == 2) of_b.scale = of_a.scale * static_cast<float>(next.integer(2, 5));
        if (kind == 3) of_b.scale = std::nextafter(of_a.scale, next.integer(0, 1) == 0 ? 0.0f : 9.0f);
        check(arrays::codes<T>(length, next()), arrays::codes<T>(length, next()), of_a, of_b);
    };
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        problem(std::uint8_t{});
        problem(std::int8_t{});
    }
}

TEST_CASE("compare_codes: all pairs of codes, scales far apart and next to each other") {
    const auto a = arrays::every_pair<std::int8_t>(true), b = arrays::every_pair<std::int8_t>(false);
    const auto c = arrays::every_pair<std::uint8_t>(true), d = arrays::every_pair<std::uint8_t>(false);
    check<std::int8_t>(a, b, {0.5f, -128}, {1.5f, 127});
    check<std::uint8_t>(c, d, {1.0f, 255}, {1e-30f, 0});
    if (zp_test::fewer_problems != 1) return;         // an emulator takes seconds for each
    check<std::int8_t>(a, b, {0.1f, 3}, {0.3f, -7});  // 0.1f * 3 is not 0.3f
    check<std::uint8_t>(c, d, {0x1p-149f, 255}, {0x1p127f, 4});
    check<std::uint8_t>(c, d, {0.25f, 7}, {0.25f, 9});
}

TEST_CASE("make_code_comparison: at compile time") {
    static_assert(kernel::make_code_comparison<comparison::less, std::uint8_t>(1, 4, 1, 4).same_grid);
    constexpr auto made = kernel::make_code_comparison<comparison::equal, std::uint8_t>(1, 4, 2, 10);
    static_assert(made.place[6] == 11);
    static_assert(made.place[7] == 10);  // an odd number, which the other grid has not
}

TEST_CASE("compare_values: a NaN is unequal to everything, in vectors too") {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> a(37, nan);
    std::vector<float> b(37, 1.0f), y(37, 7.0f);
    b[3] = nan;
    const auto all_are = [&]<comparison Which>(float wanted) {
        kernel::float_binary<zp::default_architecture, kernel::compare_values<Which>>(
            a.data(), b.data(), 37, -zp::infinity, zp::infinity, y.data());
        CHECK(y == std::vector<float>(37, wanted));
    };
    all_are.template operator()<comparison::equal>(0);
    all_are.template operator()<comparison::not_equal>(1);
    all_are.template operator()<comparison::less>(0);
    all_are.template operator()<comparison::less_equal>(0);
    all_are.template operator()<comparison::greater>(0);
    all_are.template operator()<comparison::greater_equal>(0);
}
