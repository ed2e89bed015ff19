// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/movement/interpolate.hpp>
#include <zeropoint/kernel/reference/interpolate.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
namespace reference = zp::kernel::reference;
using kernel::resize_rule;
using reference::fraction;
using zp::shape;

constexpr resize_rule rules[] = {resize_rule::corner, resize_rule::half_pixel, resize_rule::align_corners};

template <class T> std::vector<T> values(int count, std::uint64_t seed) {
    if constexpr (std::is_same_v<T, float>) return arrays::reals(static_cast<std::size_t>(count), seed);
    else return arrays::codes<T>(static_cast<std::size_t>(count), seed);
}

template <class T> void compare_nearest(resize_rule rule, const shape& in, const shape& out, std::uint64_t seed) {
    const std::vector<T> x = values<T>(in.size(), seed);
    std::vector<T> expected(static_cast<std::size_t>(out.size()));
    reference::interpolate_nearest(rule, in, out, x.data(), expected.data());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(expected.size());
        kernel::interpolate_nearest<Arch>(kernel::make_nearest_axis(rule, in.height, out.height),
                                          kernel::make_nearest_axis(rule, in.width, out.width),
                                          static_cast<std::size_t>(in.channels), x.data(), y.data());
        CHECK(y == expected);
    });
}

// A problem of bilinear interpolation; a factor of 0 / 0 stands for out / in.
struct problem {
    resize_rule rule;
    shape in, out;
    fraction height_factor, width_factor;
    kernel::linear_axis rows() const {
        return kernel::make_linear_axis(rule, in.height, out.height, static_cast<int>(height_factor.numerator),
                                        static_cast<int>(height_factor.denominator));
    }
    kernel::linear_axis columns() const {
        return kernel::make_linear_axis(rule, in.width, out.width, static_cast<int>(width_factor.numerator),
                                        static_cast<int>(width_factor.denominator));
    }
    fraction height() const { return height_factor.numerator == 0 ? fraction{out.height, in.height} : height_factor; }
    fraction width() const { return width_factor.numerator == 0 ? fraction{out.width, in.width} : width_factor; }
};

template <class T> void compare_codes(const problem& p, std::int32_t zero_point, const std::vector<T>& x) {
    CAPTURE(zp::to_string(p.in));
    CAPTURE(zp::to_string(p.out));
    CAPTURE(static_cast<int>(p.rule));
    CAPTURE(zero_point);
    std::vector<T> expected(static_cast<std::size_t>(p.out.size()));
    reference::interpolate_bilinear(p.rule, p.in, p.out, p.height(), p.width(), zero_point, x.data(), expected.data());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(expected.size());
        kernel::interpolate_bilinear<Arch>(p.rows(), p.columns(), static_cast<std::size_t>(p.in.channels), zero_point,
                                           x.data(), y.data());
        CHECK(y == expected);
    });
}
void compare_codes(const problem& p, arrays::generator& next) {
    const int zero_point = next.integer(0, 3) == 0 ? next.integer(0, 1) * 255 : next.integer(0, 255);
    compare_codes(p, zero_point, values<std::uint8_t>(p.in.size(), next()));
    compare_codes(p, zero_point - 128, values<std::int8_t>(p.in.size(), next()));
}

int random_channels(arrays::generator& next) {
    const int channels[] = {1, 3, 8, 15, 16, 17, 32, 33, next.integer(1, 70)};
    return channels[next.integer(0, 8)];
}

// x at a place between its values, in double.
double at(const std::vector<float>& x, const shape& in, double v, double u, int c) {
    const int top = std::min(static_cast<int>(v), in.height - 1), left = std::min(static_cast<int>(u), in.width - 1);
    const int bottom = std::min(top + 1, in.height - 1), right = std::min(left + 1, in.width - 1);
    const auto value = [&](int h, int w) {
        return double{x[static_cast<std::size_t>((h * in.width + w) * in.channels + c)]};
    };
    return (value(top, left) * (1 - (u - left)) + value(top, right) * (u - left)) * (1 - (v - top)) +
           (value(bottom, left) * (1 - (u - left)) + value(bottom, right) * (u - left)) * (v - top);
}

constexpr kernel::linear_axis doubled = kernel::make_linear_axis(resize_rule::half_pixel, 5, 10);
static_assert(doubled.denominator == 4 && doubled.first == -1 && doubled.step == 2);
static_assert(kernel::linear_walk(doubled).taps() == kernel::linear_taps{0, 0, 0});
static_assert(kernel::make_linear_axis(resize_rule::half_pixel, 5, 15).denominator == 3);
static_assert(kernel::make_linear_axis(resize_rule::align_corners, 5, 1).step == 0);

}  // namespace

TEST_CASE("interpolate_nearest: every rule, any extents") {
    arrays::generator next(1);
    for (int i = 0; i != zp_test::fewer(600); ++i) {
        const shape in{next.integer(1, 12), next.integer(1, 20), random_channels(next)};
        shape out{next.integer(1, 30), next.integer(1, 40), in.channels};
        if (i % 4 == 0) out = {in.height * 2, in.width * 3, in.channels};
        compare_nearest<std::uint8_t>(rules[i % 3], in, out, next());
        compare_nearest<std::int8_t>(rules[i % 3], in, out, next());
        compare_nearest<float>(rules[i % 3], in, out, next());
    }
}

TEST_CASE("nearest_axis: integer factors repeat every input as often") {
    for (int factor = 1; factor != 33; ++factor)
        for (int in = 1; in != 200; ++in) {
            const auto axis = kernel::make_nearest_axis(resize_rule::half_pixel, in, in * factor, factor);
            bool right = true;
            for (int i = 0; i != axis.out; ++i) right = right && axis.source(i) == i / factor;
            CHECK(right);
        }
}

TEST_CASE("interpolate_bilinear: every rule, any extents, exact fractions") {
    arrays::generator next(2);
    for (int i = 0; i != zp_test::fewer(600); ++i) {
        const shape in{next.integer(1, 7), next.integer(1, 9), random_channels(next)};
        compare_codes({rules[i % 3], in, {next.integer(1, 20), next.integer(1, 25), in.channels}, {}, {}}, next);
    }
}

TEST_CASE("interpolate_bilinear: integer factors, sums of 16 bits among them") {
    arrays::generator next(3);
    for (int i = 0; i != zp_test::fewer(300); ++i) {
        const shape in{next.integer(1, 5), next.integer(1, 6), random_channels(next)};
        const int factors[] = {1, 2, 2, 3, 4, 8, 16, 20};
        const shape out{in.height * factors[next.integer(0, 7)], in.width * factors[next.integer(0, 7)], in.channels};
        compare_codes({rules[i % 3], in, out, {}, {}}, next);
    }
    for (const int factor : {2, 4, 8, 16, 3}) {  // the largest sums
        const problem p{resize_rule::half_pixel, {3, 3, 40}, {3 * factor, 3 * factor, 40}, {}, {}};
        compare_codes(p, 255, std::vector<std::uint8_t>(360, 255));
        compare_codes(p, 0, std::vector<std::uint8_t>(360, 255));
        compare_codes(p, 127, std::vector<std::int8_t>(360, -128));
        compare_codes(p, -128, std::vector<std::int8_t>(360, 127));
    }
}

TEST_CASE("interpolate_bilinear: scale factors, whose denominators may need 64 bits") {
    arrays::generator next(4);
    const fraction factors[] = {{3, 2}, {5, 3}, {4099, 4091}, {2897, 1000}, {1449, 500}, {7, 10}, {65537, 65536}};
    for (int i = 0; i != zp_test::fewer(200); ++i) {
        const fraction height = factors[next.integer(0, 6)], width = factors[next.integer(0, 6)];
        const shape in{next.integer(2, 7), next.integer(2, 9), random_channels(next)};
        const auto scaled = [](int extent, const fraction& f) {
            return std::max(1, static_cast<int>(extent * f.numerator / f.denominator));
        };
        const problem p{
            rules[i % 2], in, {scaled(in.height, height), scaled(in.width, width), in.channels}, height, width};
        compare_codes(p, next);
    }
}

TEST_CASE("interpolate_bilinear: floats") {
    arrays::generator next(5);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const shape in{next.integer(1, 7), next.integer(1, 9), random_channels(next)};
        const problem p{rules[i % 3], in, {next.integer(1, 20), next.integer(1, 25), in.channels}, {}, {}};
        const std::vector<float> x = values<float>(in.size(), next());
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(static_cast<std::size_t>(p.out.size()));
            kernel::interpolate_bilinear<Arch>(p.rows(), p.columns(), static_cast<std::size_t>(in.channels), 0,
                                               x.data(), y.data());
            double worst = 0;
            for (int h = 0, index = 0; h != p.out.height; ++h)
                for (int w = 0; w != p.out.width; ++w)
                    for (int c = 0; c != in.channels; ++c, ++index) {
                        const auto v =
                            reference::linear_source(p.rule, h, in.height, p.out.height, p.out.height, in.height);
                        const auto u =
                            reference::linear_source(p.rule, w, in.width, p.out.width, p.out.width, in.width);
                        const double wanted =
                            at(x, in, static_cast<double>(v.numerator) / static_cast<double>(v.denominator),
                               static_cast<double>(u.numerator) / static_cast<double>(u.denominator), c);
                        worst = std::max(worst, std::abs(double{y[static_cast<std::size_t>(index)]} - wanted));
                    }
            CHECK(worst < 2e-6);
        });
    }
}
