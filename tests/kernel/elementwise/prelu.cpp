// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/prelu.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

/// Slopes: mostly below 1, some negative, zero, or above 1.
std::vector<float> random_slopes(int count, zp_test::generator& next) {
    std::vector<float> slopes(static_cast<std::size_t>(count));
    for (float& slope : slopes)
        slope = next.integer(0, 3) == 0 ? static_cast<float>(next.integer(-2, 3)) / 2 : next.real(-1, 2);
    return slopes;
}

template <class X, class Y> void random_problem(zp_test::generator& next) {
    const zp::shape extents{next.integer(1, 5), next.integer(1, 5),
                            next.integer(1, next.integer(0, 4) == 0 ? 600 : 70)};
    const int slope_count = next.integer(0, 1) == 0 ? 1 : extents.channels;
    const auto slopes = random_slopes(slope_count, next);
    const operand_grid of_x = random_grid<X>(next);
    const output_grid of_y = random_output<Y>(next, 255 * of_x.scale);
    const auto parameters = kernel::make_prelu_parameters(of_x.scale, of_x.zero_point, of_y.scale, of_y.zero_point,
                                                          of_y.quant_min, of_y.quant_max);
    std::vector<float> factors;
    for (const float slope : slopes) factors.push_back(kernel::make_prelu_factor(slope, of_x.scale, of_y.scale));
    const auto x = arrays::codes<X>(static_cast<std::size_t>(extents.size()), next());
    std::vector<Y> expected(x.size());
    for (std::size_t i = 0; i != x.size(); ++i) {
        const float slope = slopes[i % static_cast<std::size_t>(slope_count)];
        expected[i] = static_cast<Y>(reference::prelu(x[i], of_x, slope, of_y));
        const double value = real(x[i], of_x);
        CHECK(distance(expected[i], value > 0 ? value : value * double{slope}, of_y) < 1e-4);
    }
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(x.size());
        kernel::prelu<Arch>(x.data(), extents, factors.data(), slope_count, parameters, y.data());
        CHECK(y == expected);
        if constexpr (std::is_same_v<X, Y>) {
            std::vector<X> in_place = x;
            kernel::prelu<Arch>(in_place.data(), extents, factors.data(), slope_count, parameters, in_place.data());
            CHECK(in_place == expected);
        }
    });
}

}  // namespace

TEST_CASE("prelu: random problems, one slope and a slope a channel") {
    zp_test::generator next(51);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        random_problem<std::uint8_t, std::uint8_t>(next);
        random_problem<std::int8_t, std::int8_t>(next);
        if (i % 4 == 0) random_problem<std::uint8_t, std::int8_t>(next);
        if (i % 4 == 1) random_problem<std::int8_t, std::uint8_t>(next);
    }
}

TEST_CASE("prelu: codes above the zero point keep their value, the others take their channel's slope") {
    const auto parameters = kernel::make_prelu_parameters(0.5f, 10, 0.5f, 20, 0, 255);
    const float factors[] = {kernel::make_prelu_factor(0.5f, 0.5f, 0.5f), kernel::make_prelu_factor(-1.0f, 0.5f, 0.5f)};
    const std::vector<std::uint8_t> x = {14, 14, 10, 10, 7, 7, 0, 0};
    std::vector<std::uint8_t> y(8);
    kernel::prelu<zp::portable>(x.data(), {2, 2, 2}, factors, 2, parameters, y.data());
    CHECK(y == std::vector<std::uint8_t>{24, 24, 20, 20, 18, 23, 15, 30});  // -1.5 is rounded to the even -2
}

TEST_CASE("prelu: floats") {
    zp_test::generator next(52);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const zp::shape extents{next.integer(1, 4), next.integer(1, 4), next.integer(1, 40)};
        const int slope_count = next.integer(0, 1) == 0 ? 1 : extents.channels;
        const auto slopes = random_slopes(slope_count, next);
        auto x = arrays::reals(static_cast<std::size_t>(extents.size()), next());
        x[0] = -0.0f;
        std::vector<float> expected(x.size());
        for (std::size_t k = 0; k != x.size(); ++k)
            expected[k] = x[k] > 0 ? x[k] : x[k] * slopes[k % static_cast<std::size_t>(slope_count)];
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(x.size());
            kernel::prelu<Arch>(x.data(), extents, slopes.data(), slope_count, y.data());
            CHECK(arrays::same_bits(y, expected));
        });
    }
    const float nan = std::numeric_limits<float>::quiet_NaN(), slope = 0.25f;
    float y = 0;
    kernel::prelu<zp::portable>(&nan, {1, 1, 1}, &slope, 1, &y);
    CHECK(std::isnan(y));
}

TEST_CASE("make_prelu_parameters: scales and slopes that cannot be meant") {
    static_assert(kernel::make_prelu_parameters(1.0f, 0, 0.5f, 0, 0, 255).multiplier == 2.0f);
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(kernel::make_prelu_parameters(bad, 0, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_prelu_parameters(1.0f, 0, bad, 0, 0, 255), zp::value_error);
    }
    CHECK_THROWS_AS(kernel::make_prelu_factor(zp::infinity, 1.0f, 1.0f), zp::value_error);
    CHECK_THROWS_AS(kernel::make_prelu_factor(std::numeric_limits<float>::quiet_NaN(), 1.0f, 1.0f), zp::value_error);
    CHECK_THROWS_AS(kernel::make_prelu_parameters(1e30f, 0, 1e-30f, 0, 0, 255), zp::value_error);
}
