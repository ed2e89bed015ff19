// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/axis_moments.hpp>
#include <zeropoint/kernel/reference/reduction.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using kernel::moment;
using namespace binary_problem;

std::size_t size_of(const zp::shape& s) { return static_cast<std::size_t>(s.size()); }

template <moment Which, class X, class Y>
void check(const std::vector<X>& x, const zp::shape& in, const zp::shape& out, int correction, float x_scale,
           const output_grid& of_y) {
    constexpr bool root = Which == moment::standard_deviation;
    const int count = in.size() / out.size();
    const auto parameters = kernel::make_moment_parameters(Which, count, correction, x_scale, of_y.scale,
                                                           of_y.zero_point, of_y.quant_min, of_y.quant_max);
    std::vector<Y> expected(size_of(out));
    reference::moments_along(in, out, root, correction, x.data(), x_scale, of_y, expected.data());
    const auto together = reference::values_together(in, out, x.data());
    for (std::size_t i = 0; i != expected.size(); ++i) {
        double mean = 0, squares = 0;
        for (const X code : together[i]) mean += double(code) / count;
        for (const X code : together[i]) squares += std::pow((code - mean) * double{x_scale}, 2) / (count - correction);
        CHECK(distance(expected[i], root ? std::sqrt(squares) : squares, of_y) < 1e-5);
    }
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(expected.size());
        kernel::moments_along<Arch, Which>(in, out, x.data(), parameters, y.data());
        CHECK(y == expected);
    });
}

template <class X, class Y> void random_problem(zp_test::generator& next, int number) {
    const int kind = next.integer(0, 5);
    zp::shape in{next.integer(1, 9), next.integer(1, 9), next.integer(1, 70)};
    if (kind == 0) in = {next.integer(1, 40), next.integer(1, 40), next.integer(1, 3)};
    if (kind == 1) in.channels = next.integer(100, 300);
    const zp::shape out{(number & 1) != 0 ? 1 : in.height, (number & 2) != 0 ? 1 : in.width,
                        (number & 4) != 0 ? 1 : in.channels};
    const int correction = in.size() == out.size() ? 0 : next.integer(0, 1);
    const float x_scale = random_scale(next);
    const auto x = arrays::codes<X>(size_of(in), next());
    check<moment::variance, X, Y>(x, in, out, correction, x_scale, random_output<Y>(next, 16384 * x_scale * x_scale));
    output_grid of_y = random_output<Y>(next, 128 * x_scale);
    if (next.integer(0, 1) == 0) of_y.scale = x_scale;
    check<moment::standard_deviation, X, Y>(x, in, out, correction, x_scale, of_y);
}

}  // namespace

TEST_CASE("moments_along: random problems, all sets of axes") {
    zp_test::generator next(91);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        random_problem<std::uint8_t, std::uint8_t>(next, i);
        random_problem<std::int8_t, std::int8_t>(next, i);
    }
}

TEST_CASE("moments_along: ties go to even") {
    // Of four codes, two at 0 and two at 2 k + 1, the deviation is k + 1/2.
    for (int k = 0; k != 120; ++k) {
        const auto high = static_cast<std::uint8_t>(2 * k + 1);
        const std::vector<std::uint8_t> x = {0, high, 0, high};
        const auto p = kernel::make_moment_parameters(moment::standard_deviation, 4, 0, 0.3f, 0.3f, 0, 0, 255);
        std::uint8_t y = 0;
        kernel::moments_along<zp::default_architecture, moment::standard_deviation>({1, 4, 1}, {1, 1, 1}, x.data(), p,
                                                                                    &y);
        CHECK(y == (k % 2 == 0 ? k : k + 1));
    }
}

TEST_CASE("moments_along: as many codes as there may be") {
    constexpr zp::shape in{2048, 4096, 1};
    static_assert(in.size() == kernel::most_in_moment);
    std::vector<std::uint8_t> x(size_of(in));
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = i % 2 == 0 ? 0 : 255;
    const auto code_of = [&]<moment Which>(int correction, float y_scale, std::int32_t y_zero_point) {
        const auto p =
            kernel::make_moment_parameters(Which, in.size(), correction, 1.0f, y_scale, y_zero_point, 0, 255);
        std::uint8_t y = 0;
        kernel::moments_along<zp::default_architecture, Which>(in, {1, 1, 1}, x.data(), p, &y);
        return int{y};
    };
    // 127.5 is a tie; the deviation of a sample is a little more.
    CHECK(code_of.operator()<moment::standard_deviation>(1, 1.0f, 0) == 128);
    CHECK(code_of.operator()<moment::variance>(0, 100.0f, 3) == 166);  // 16256.25 / 100 + 3
}

TEST_CASE("moments_along: floats, in double") {
    zp_test::generator next(92);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const zp::shape in{next.integer(1, 9), next.integer(1, 9), next.integer(2, 40)};
        const zp::shape out{(i & 1) != 0 ? 1 : in.height, (i & 2) != 0 ? 1 : in.width, (i & 4) != 0 ? 1 : in.channels};
        const int count = in.size() / out.size(), correction = count == 1 ? 0 : next.integer(0, 1);
        const auto x = arrays::reals(size_of(in), next());
        std::vector<float> wanted;
        for (const auto& values : reference::values_together(in, out, x.data())) {
            double mean = 0, squares = 0;
            for (const float value : values) mean += double{value};
            mean /= count;
            for (const float value : values) squares += std::pow(double{value} - mean, 2);
            wanted.push_back(static_cast<float>(squares / (count - correction)));
        }
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(wanted.size()), roots(wanted.size());
            kernel::moments_along<Arch, moment::variance>(in, out, correction, -zp::infinity, 2.0f, x.data(), y.data());
            kernel::moments_along<Arch, moment::standard_deviation>(in, out, correction, 1.0f, zp::infinity, x.data(),
                                                                    roots.data());
            for (std::size_t k = 0; k != wanted.size(); ++k) {
                CHECK(y[k] == doctest::Approx(std::fmin(wanted[k], 2.0f)).epsilon(1e-6));
                CHECK(roots[k] == doctest::Approx(std::fmax(std::sqrt(wanted[k]), 1.0f)).epsilon(1e-6));
            }
        });
    }
}

TEST_CASE("make_moment_parameters: what cannot be meant") {
    const auto make = [](int count, int correction, float x_scale, float y_scale) {
        return kernel::make_moment_parameters(moment::variance, count, correction, x_scale, y_scale, 0, 0, 255);
    };
    CHECK(make(4, 1, 1.0f, 0.5f).divisor == 12);
    for (const float bad : {0.0f, -1.0f, zp::infinity, std::numeric_limits<float>::quiet_NaN()}) {
        CHECK_THROWS_AS(make(4, 1, bad, 1.0f), zp::value_error);
        CHECK_THROWS_AS(make(4, 1, 1.0f, bad), zp::value_error);
    }
    CHECK_THROWS_AS(make(1, 1, 1.0f, 1.0f), zp::value_error);
    CHECK_THROWS_AS(make((1 << 23) + 1, 1, 1.0f, 1.0f), zp::value_error);
    CHECK_THROWS_AS(make(4, -1, 1.0f, 1.0f), zp::value_error);
}
