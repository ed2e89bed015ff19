// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/add.hpp>
#include <zeropoint/kernel/reference/elementwise.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using arrays::every_pair;
using arrays::grid;

template <class A, class Y>
void compare(const std::vector<A>& a, const std::vector<A>& b, grid of_a, grid of_b, grid of_y, int quant_min,
             int quant_max) {
    const kernel::add_parameters parameters = kernel::make_add_parameters(
        of_a.scale, of_a.zero_point, of_b.scale, of_b.zero_point, of_y.scale, of_y.zero_point, quant_min, quant_max);
    std::vector<Y> expected(a.size());
    for (std::size_t i = 0; i != a.size(); ++i)
        expected[i] =
            static_cast<Y>(kernel::reference::add(a[i], of_a.scale, of_a.zero_point, b[i], of_b.scale, of_b.zero_point,
                                                  of_y.scale, of_y.zero_point, quant_min, quant_max));
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(a.size());
        kernel::add<Arch>(a.data(), b.data(), a.size(), parameters, y.data());
        CHECK(y == expected);
    });
}

}  // namespace

TEST_CASE("add: random problems") {
    using namespace binary_problem;
    random_problems(500, 3, []<class A, class Y>(zp_test::generator& next, const auto& a, const auto& b) {
        const operand_grid of_a = random_grid<A>(next), of_b = random_grid<A>(next);
        const output_grid of_y = random_output<Y>(next, 255 * (of_a.scale + of_b.scale));
        compare<A, Y>(a, b, {of_a.scale, of_a.zero_point}, {of_b.scale, of_b.zero_point}, {of_y.scale, of_y.zero_point},
                      of_y.quant_min, of_y.quant_max);
    });
}

TEST_CASE("add: all pairs of codes, over ratios of scales from nothing to saturation") {
    const std::vector<std::uint8_t> a = every_pair<std::uint8_t>(true), b = every_pair<std::uint8_t>(false);
    const std::vector<std::int8_t> c = every_pair<std::int8_t>(true), d = every_pair<std::int8_t>(false);
    for (const auto& [a_scale, b_scale, y_scale] : {std::tuple{1.0f, 1.0f, 2.0f},
                                                    {1.0f, 1.0f, 1.0f},
                                                    {0.017f, 0.5f, 0.4f},
                                                    {1e-6f, 3e-5f, 2.0f},
                                                    {1e-20f, 1e-25f, 1.0f},
                                                    {3.0f, 2e-3f, 1e-3f},
                                                    {1e20f, 3e20f, 3e14f},
                                                    {0.9999999f, 0.9999999f, 1.0f}}) {
        compare<std::uint8_t, std::uint8_t>(a, b, {a_scale, 0}, {b_scale, 255}, {y_scale, 128}, 0, 255);
        compare<std::uint8_t, std::uint8_t>(a, b, {a_scale, 0}, {b_scale, 0}, {y_scale, 3}, 3, 255);  // a fused relu
        compare<std::int8_t, std::int8_t>(c, d, {a_scale, 127}, {b_scale, -128}, {y_scale, -5}, -128, 127);
        compare<std::int8_t, std::uint8_t>(c, d, {a_scale, 0}, {b_scale, 1}, {y_scale, 7}, 0, 127);
    }
}

TEST_CASE("add: ties go to the even code, whatever zero point is added to it") {
    for (const std::int32_t zero_point : {0, 1}) {
        const auto parameters = kernel::make_add_parameters(1.0f, 128, 1.0f, 128, 2.0f, zero_point, 0, 255);
        const std::vector<std::uint8_t> a = {129, 131, 133, 135, 137}, b(5, 128);  // 0.5, 1.5, 2.5, 3.5, 4.5
        std::vector<std::uint8_t> y(5);
        kernel::add<zp::portable>(a.data(), b.data(), 5, parameters, y.data());
        const auto z = static_cast<std::uint8_t>(zero_point);
        CHECK(y == std::vector<std::uint8_t>{z, static_cast<std::uint8_t>(2 + z), static_cast<std::uint8_t>(2 + z),
                                             static_cast<std::uint8_t>(4 + z), static_cast<std::uint8_t>(4 + z)});
    }
}

TEST_CASE("add: every length, unaligned, in place") {
    const grid of_a{0.02f, 3}, of_b{0.03f, 200}, of_y{0.04f, 100};
    const auto parameters = kernel::make_add_parameters(0.02f, 3, 0.03f, 200, 0.04f, 100, 0, 255);
    for (std::size_t count = 0; count <= 130; ++count) {
        const auto a = arrays::codes<std::uint8_t>(count, count), b = arrays::codes<std::uint8_t>(count, count + 1);
        compare<std::uint8_t, std::uint8_t>(a, b, of_a, of_b, of_y, 0, 255);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::uint8_t> apart(count), in_a(count + 1, 9), in_b = b;
            std::copy(a.begin(), a.end(), in_a.begin() + 1);
            kernel::add<Arch>(a.data(), b.data(), count, parameters, apart.data());
            kernel::add<Arch>(in_a.data() + 1, b.data(), count, parameters, in_a.data() + 1);
            kernel::add<Arch>(a.data(), in_b.data(), count, parameters, in_b.data());
            CHECK(std::vector<std::uint8_t>(in_a.begin() + 1, in_a.end()) == apart);
            CHECK(in_a[0] == 9);
            CHECK(in_b == apart);
        });
    }
}

TEST_CASE("make_add_parameters: 22 bits for the larger ratio, at most 30 bits of shift") {
    constexpr kernel::add_parameters equal = kernel::make_add_parameters(1.0f, 0, 0.5f, 0, 1.0f, 0, 0, 255);
    static_assert(equal.shift == 21 && equal.a_multiplier == 1 << 21 && equal.b_multiplier == 1 << 20);
    CHECK(kernel::make_add_parameters(1.9999999f, 0, 0.5f, 0, 1.0f, 0, 0, 255).a_multiplier == (1 << 22));
    CHECK(kernel::make_add_parameters(1e-9f, 0, 1e-9f, 0, 1.0f, 0, 0, 255).shift == 30);
    CHECK(kernel::make_add_parameters(0x1p20f, 0, 1.0f, 0, 1.0f, 0, 0, 255).shift == 1);
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(kernel::make_add_parameters(bad, 0, 1.0f, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_add_parameters(1.0f, 0, bad, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_add_parameters(1.0f, 0, 1.0f, 0, bad, 0, 0, 255), zp::value_error);
    }
    CHECK_THROWS_AS(kernel::make_add_parameters(1.0f, 0, 0x1p21f, 0, 1.0f, 0, 0, 255), zp::value_error);
}
