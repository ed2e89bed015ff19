// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/kernel/reference/pooling.hpp>
#include <zeropoint/kernel/reference/reduction.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

/// `in` with some of its axes folded to 1.
zp::shape folded(const zp::shape& in, int axes) {
    return {(axes & 1) != 0 ? 1 : in.height, (axes & 2) != 0 ? 1 : in.width, (axes & 4) != 0 ? 1 : in.channels};
}
std::size_t size_of(const zp::shape& s) { return static_cast<std::size_t>(s.size()); }

template <class X, class Y>
void check(const std::vector<X>& x, const zp::shape& in, const zp::shape& out, int divisor, const operand_grid& of_x,
           const output_grid& of_y) {
    const auto parameters = kernel::make_sum_parameters(of_x.scale, of_x.zero_point, divisor, of_y.scale,
                                                        of_y.zero_point, of_y.quant_min, of_y.quant_max);
    std::vector<Y> expected(size_of(out));
    reference::sum_axes(in, out, x.data(), of_x, divisor, of_y, expected.data());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(expected.size());
        kernel::sum_axes<Arch>(in, out, x.data(), parameters, y.data());
        CHECK(y == expected);
    });
}

template <class X, class Y> void random_problem(zp_test::generator& next, int number) {
    const int kind = next.integer(0, 5);
    zp::shape in{next.integer(1, 9), next.integer(1, 9), next.integer(1, 70)};
    if (kind == 0) in = {next.integer(1, 40), next.integer(1, 40), next.integer(1, 3)};
    if (kind == 1) in.channels = next.integer(100, 700);
    const zp::shape out = folded(in, number % 8);
    const int n = in.size() / out.size(), divisor = next.integer(0, 1) == 0 ? 1 : n;
    const operand_grid of_x = random_grid<X>(next);
    output_grid of_y = random_output<Y>(next, 255 * of_x.scale * static_cast<float>(n) / static_cast<float>(divisor));
    if (next.integer(0, 1) == 0) of_y.scale = of_x.scale;
    check<X, Y>(arrays::codes<X>(size_of(in), next()), in, out, divisor, of_x, of_y);
}

}  // namespace

TEST_CASE("sum_axes: random problems, sums and means along all sets of axes") {
    zp_test::generator next(61);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        random_problem<std::uint8_t, std::uint8_t>(next, i);
        random_problem<std::int8_t, std::int8_t>(next, i);
        if (i % 3 == 0) random_problem<std::uint8_t, std::int8_t>(next, i / 3);
        if (i % 3 == 1) random_problem<std::int8_t, std::uint8_t>(next, i / 3);
    }
}

TEST_CASE("sum_axes: a mean on the input's grid is average pooling, ties included") {
    zp_test::generator next(62);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const zp::shape in{next.integer(1, 12), next.integer(1, 12), next.integer(1, 50)}, out{1, 1, in.channels};
        const float scale = random_scale(next);
        const int zero_point = random_code<std::int8_t>(next);
        const auto x = arrays::codes<std::int8_t>(size_of(in), next());
        std::vector<std::int8_t> y(size_of(out)), pooled(size_of(out));
        kernel::reference::adaptive_avg_pool2d(in, out, zero_point, x.data(), pooled.data());
        kernel::sum_axes<zp::default_architecture>(
            in, out, x.data(),
            kernel::make_sum_parameters(scale, zero_point, in.pixels(), scale, zero_point, -128, 127), y.data());
        CHECK(y == pooled);
    }
}

TEST_CASE("sum_axes: sums beyond 16 and 24 bits") {
    const zp::shape in{600, 300, 3};  // 180000 * 255 > 2^25
    const std::vector<std::uint8_t> x(size_of(in), 255);
    for (const int axes : {1, 3, 5, 7}) {
        const zp::shape out = folded(in, axes);
        check<std::uint8_t, std::uint8_t>(x, in, out, 1, {1.0f, 0}, {2e6f, 0, 0, 255});
        check<std::uint8_t, std::uint8_t>(x, in, out, in.size() / out.size(), {1.0f, 255}, {1.0f, 3, 0, 255});
        check<std::uint8_t, std::uint8_t>(x, in, out, in.size() / out.size(), {1.0f, 5}, {1.0f, 3, 0, 255});
    }
}

TEST_CASE("sum_axes: codes of 16 bits, along all sets of axes and beyond sums of 32 bits") {
    zp_test::generator next(64);
    for (int i = 0; i != zp_test::fewer(300); ++i) {
        const zp::shape in{next.integer(1, 9), next.integer(1, 9), next.integer(1, 140)}, out = folded(in, i % 8);
        const int n = in.size() / out.size(), divisor = next.integer(0, 1) == 0 ? 1 : n;
        const operand_grid of_x{random_scale(next), 0};
        const float largest = 32768 * of_x.scale * static_cast<float>(n) / static_cast<float>(divisor);
        const output_grid of_y{largest / std::exp2(next.real(12, 17)), 0, next.integer(0, 1) == 0 ? 0 : -32768, 32767};
        check<std::int16_t, std::int16_t>(arrays::codes<std::int16_t>(size_of(in), next()), in, out, divisor, of_x,
                                          of_y);
    }
    const zp::shape in{300, 300, 3};  // 90000 * 32767 > 2^31
    const std::vector<std::int16_t> x(size_of(in), 32767);
    for (const int axes : {3, 7}) {
        const zp::shape out = folded(in, axes);
        check<std::int16_t, std::int16_t>(x, in, out, in.size() / out.size(), {1.0f, 0}, {1.5f, 0, -32768, 32767});
    }
}

TEST_CASE("sum_axes: floats, in double") {
    zp_test::generator next(63);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const zp::shape in{next.integer(1, 9), next.integer(1, 9), next.integer(1, 40)}, out = folded(in, i % 8);
        const int divisor = next.integer(0, 1) == 0 ? 1 : in.size() / out.size();
        const float low = next.integer(0, 1) == 0 ? 0.0f : -zp::infinity;
        const auto x = arrays::reals(size_of(in), next());
        std::vector<double> sums(size_of(out));
        for (int k = 0; k != in.size(); ++k) {
            const int c = k % in.channels, column = k / in.channels % in.width, row = k / in.channels / in.width;
            const int to = ((out.height == 1 ? 0 : row) * out.width + (out.width == 1 ? 0 : column)) * out.channels +
                           (out.channels == 1 ? 0 : c);
            sums[static_cast<std::size_t>(to)] += double{x[static_cast<std::size_t>(k)]};
        }
        std::vector<float> expected;
        for (const double sum : sums) expected.push_back(std::max(static_cast<float>(sum / divisor), low));
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(expected.size());
            kernel::sum_axes<Arch>(in, out, divisor, low, zp::infinity, x.data(), y.data());
            CHECK(arrays::same_bits(y, expected));
        });
    }
    const std::vector<float> x = {1.0f, std::numeric_limits<float>::quiet_NaN()};
    float y = 0;
    kernel::sum_axes<zp::portable>({1, 1, 2}, {1, 1, 1}, 2, 0.0f, 6.0f, x.data(), &y);
    CHECK(std::isnan(y));
}

TEST_CASE("make_sum_parameters: scales that cannot be meant") {
    static_assert(kernel::make_sum_parameters(1.0f, 0, 4, 0.5f, 0, 0, 255).denominator == 2.0);
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(kernel::make_sum_parameters(bad, 0, 1, 1.0f, 0, 0, 255), zp::value_error);
        CHECK_THROWS_AS(kernel::make_sum_parameters(1.0f, 0, 1, bad, 0, 0, 255), zp::value_error);
    }
}
