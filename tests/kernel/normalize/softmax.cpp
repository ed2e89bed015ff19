// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/normalize/softmax.hpp>
#include <zeropoint/kernel/reference/softmax.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

using arrays::generator;
using arrays::grid;

// Rows of codes, and the grids of input and output.
template <class X, class Y> struct problem {
    std::size_t rows, channels;
    float x_scale;
    grid y;
    int quant_min, quant_max;
    std::vector<X> x;
};

template <class X, class Y> problem<X, Y> random_problem(std::uint64_t seed, bool logarithm) {
    generator next(seed);
    const int lowest = std::numeric_limits<Y>::min(), highest = std::numeric_limits<Y>::max();
    problem<X, Y> p;
    const bool is_long = next.integer(0, 9) == 0;
    p.channels = static_cast<std::size_t>(is_long ? next.integer(200, 1500) : next.integer(1, 140));
    p.rows = static_cast<std::size_t>(is_long ? 1 : next.integer(1, 5));
    p.x_scale = std::exp2(next.real(-12.0f, 2.0f));
    const int zero_point = next.integer(0, 2) == 0 ? next.integer(lowest, highest) : logarithm ? highest : lowest;
    p.y = {std::exp2(logarithm ? next.real(-12.0f, 1.0f) : next.real(-10.0f, -6.0f)), zero_point};
    if (next.integer(0, 3) == 0) p.y.scale = logarithm ? 16.0f / 256 : 1.0f / 256;
    const bool narrow = next.integer(0, 4) == 0;
    p.quant_min = narrow ? next.integer(lowest, zero_point) : lowest;
    p.quant_max = narrow ? next.integer(zero_point, highest) : highest;
    p.x = arrays::codes<X>(p.rows * p.channels, seed);
    if (next.integer(0, 3) == 0)  // codes that are close: many shares of the sum
        for (X& code : p.x) code = static_cast<X>(code / 16);
    return p;
}

template <class X> std::array<std::int32_t, kernel::softmax_table_size> table_of(float x_scale) {
    std::array<std::int32_t, kernel::softmax_table_size> table;
    kernel::make_softmax_table(x_scale, table.data());
    return table;
}

// The exact logarithm of softmax of every value.
template <class X> std::vector<double> exact_logarithms(const X* x, std::size_t channels, float scale) {
    const double largest = *std::max_element(x, x + channels);
    double sum = 0;
    for (std::size_t i = 0; i != channels; ++i) sum += std::exp((x[i] - largest) * double{scale});
    std::vector<double> y(channels);
    for (std::size_t i = 0; i != channels; ++i) y[i] = (x[i] - largest) * double{scale} - std::log(sum);
    return y;
}

template <class X, class Y> void compare_softmax(const problem<X, Y>& p) {
    std::vector<Y> expected(p.x.size());
    kernel::reference::softmax(p.x.data(), p.rows, p.channels, p.x_scale, p.y.scale, p.y.zero_point, p.quant_min,
                               p.quant_max, expected.data());
    const auto table = table_of<X>(p.x_scale);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(p.x.size());
        kernel::softmax<Arch>(p.x.data(), p.rows, p.channels, table.data(), p.y.scale,
                              {p.y.zero_point, p.quant_min, p.quant_max}, y.data());
        CHECK(y == expected);
    });
    const double bound = 0.5 + static_cast<double>(p.channels) * 0x1p-30 / p.y.scale + 255 * 3.1 * 0x1p-24;
    for (std::size_t row = 0; row != p.rows; ++row) {
        const auto exact = exact_logarithms(p.x.data() + row * p.channels, p.channels, p.x_scale);
        for (std::size_t i = 0; i != p.channels; ++i) {
            const double real =
                std::clamp<double>(std::exp(exact[i]) / p.y.scale + p.y.zero_point, p.quant_min, p.quant_max);
            CHECK(std::abs(expected[row * p.channels + i] - real) <= bound);
        }
    }
}

template <class X, class Y> void compare_log_softmax(const problem<X, Y>& p) {
    std::vector<Y> expected(p.x.size());
    kernel::reference::log_softmax(p.x.data(), p.rows, p.channels, p.x_scale, p.y.scale, p.y.zero_point, p.quant_min,
                                   p.quant_max, expected.data());
    const auto table = table_of<X>(p.x_scale);
    const auto parameters = kernel::make_log_softmax_parameters(p.x_scale, p.y.scale);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(p.x.size());
        kernel::log_softmax<Arch>(p.x.data(), p.rows, p.channels, table.data(), parameters,
                                  {p.y.zero_point, p.quant_min, p.quant_max}, y.data());
        CHECK(y == expected);
    });
    const double bound = 0.5 + 0x1p-11 + (static_cast<double>(p.channels) * 0x1p-30 + 0x1p-25) / p.y.scale;
    for (std::size_t row = 0; row != p.rows; ++row) {
        const auto exact = exact_logarithms(p.x.data() + row * p.channels, p.channels, p.x_scale);
        for (std::size_t i = 0; i != p.channels; ++i) {
            const double real = std::clamp<double>(exact[i] / p.y.scale + p.y.zero_point, p.quant_min, p.quant_max);
            CHECK(std::abs(expected[row * p.channels + i] - real) <= bound);
        }
    }
}

}  // namespace

TEST_CASE("make_softmax_table: upwards to 1, as the reference's exponentials") {
    for (const float scale : {1e-30f, 0.01f, 0.3f, 40.0f}) {
        const auto table = table_of<std::uint8_t>(scale);
        CHECK(table[255] == 1 << 30);
        CHECK(std::is_sorted(table.begin(), table.end()));
        CHECK(table[0] == kernel::fixed_point_exponential(scale, 255));
    }
}

TEST_CASE("largest_code: every length, the largest at every place") {
    for (std::size_t count = 1; count <= 140; ++count) {
        for (std::size_t at = 0; at < count; at += 1 + count / 16) {
            std::vector<std::uint8_t> x(count, 127);
            std::vector<std::int8_t> z(count, -128);
            x[at] = 128;
            z[at] = 0;
            arrays::for_each_architecture([&]<class Arch>() {
                CHECK(int{kernel::largest_code<Arch>(x.data(), count)} == 128);
                CHECK(int{kernel::largest_code<Arch>(z.data(), count)} == 0);
            });
        }
    }
}

TEST_CASE("softmax: random rows, scales and ranges of all storages, as the reference and within the bound") {
    for (int i = zp_test::fewer(600); i != 0; --i) {
        const auto seed = static_cast<std::uint64_t>(i);
        compare_softmax(random_problem<std::uint8_t, std::uint8_t>(seed, false));
        compare_softmax(random_problem<std::int8_t, std::int8_t>(seed, false));
        if (i % 4 != 0) continue;
        compare_softmax(random_problem<std::uint8_t, std::int8_t>(seed, false));
        compare_softmax(random_problem<std::int8_t, std::uint8_t>(seed, false));
    }
}

TEST_CASE("log_softmax: random rows, scales and ranges of all storages, as the reference and within the bound") {
    for (int i = zp_test::fewer(600); i != 0; --i) {
        const auto seed = static_cast<std::uint64_t>(i);
        compare_log_softmax(random_problem<std::uint8_t, std::uint8_t>(seed, true));
        compare_log_softmax(random_problem<std::int8_t, std::int8_t>(seed, true));
        if (i % 4 != 0) continue;
        compare_log_softmax(random_problem<std::uint8_t, std::int8_t>(seed, true));
        compare_log_softmax(random_problem<std::int8_t, std::uint8_t>(seed, true));
    }
}

TEST_CASE("softmax: scales at the ends of float, all codes equal, one row longer than a sum of 32 bits holds") {
    for (const float scale : {1e-45f, 1e-38f, 1.0f, 3e38f}) {
        for (const float y_scale : {1e-45f, 1.0f / 256, 3e38f}) {
            problem<std::int8_t, std::int8_t> p{
                2, 37, scale, {y_scale, -5}, -128, 127, arrays::codes<std::int8_t>(74, 1)};
            compare_softmax(p);
            if (y_scale > 1e-30f) compare_log_softmax(p);
        }
    }
    for (const std::size_t channels : {1u, 2u, 255u, 256u, 257u, 512u, 70000u}) {
        problem<std::uint8_t, std::uint8_t> p{
            1, channels, 0.1f, {1.0f / 256, 0}, 0, 255, std::vector<std::uint8_t>(channels, 255)};
        compare_softmax(p);
        p.y = {16.0f / 256, 255};
        compare_log_softmax(p);
    }
}

TEST_CASE("softmax: ties go to the even step, and shares of 256 are exact") {
    const auto table = table_of<std::uint8_t>(0.5f);
    for (const std::size_t channels : {2u, 4u, 128u, 256u, 512u}) {
        const std::vector<std::uint8_t> x(channels, 9);
        std::vector<std::uint8_t> y(channels);
        kernel::softmax<zp::default_architecture>(x.data(), 1, channels, table.data(), 1.0f / 256, {0, 0, 255},
                                                  y.data());
        CHECK(y ==
              std::vector<std::uint8_t>(channels, static_cast<std::uint8_t>(channels == 512 ? 0 : 256 / channels)));
    }
}

TEST_CASE("log_softmax: ties go to the even step") {
    // Codes so far below the largest one that its exponential is all of the sum: y is half their distance.
    const auto table = table_of<std::uint8_t>(1.0f);
    const auto parameters = kernel::make_log_softmax_parameters(1.0f, 2.0f);
    for (const std::size_t channels : {7u, 130u}) {
        std::vector<std::uint8_t> x(channels), expected(channels);
        for (std::size_t i = 0; i != channels; ++i) {
            const int distance = i == 0 ? 0 : 22 + static_cast<int>(i);
            x[i] = static_cast<std::uint8_t>(200 - distance);
            expected[i] = static_cast<std::uint8_t>(255 + zp::divide_half_even(-distance, 2));
        }
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::uint8_t> y(channels);
            kernel::log_softmax<Arch>(x.data(), 1, channels, table.data(), parameters, {255, 0, 255}, y.data());
            CHECK(y == expected);
        });
    }
}

TEST_CASE("softmax and log_softmax: in place") {
    for (const std::size_t channels : {5u, 64u, 300u}) {
        const auto table = table_of<std::uint8_t>(0.05f);
        const auto x = arrays::codes<std::uint8_t>(3 * channels, channels);
        const auto parameters = kernel::make_log_softmax_parameters(0.05f, 0.0625f);
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::uint8_t> apart(x.size()), in_place = x;
            kernel::softmax<Arch>(x.data(), 3, channels, table.data(), 0.004f, {0, 0, 255}, apart.data());
            kernel::softmax<Arch>(in_place.data(), 3, channels, table.data(), 0.004f, {0, 0, 255}, in_place.data());
            CHECK(in_place == apart);
            in_place = x;
            kernel::log_softmax<Arch>(x.data(), 3, channels, table.data(), parameters, {255, 0, 255}, apart.data());
            kernel::log_softmax<Arch>(in_place.data(), 3, channels, table.data(), parameters, {255, 0, 255},
                                      in_place.data());
            CHECK(in_place == apart);
        });
    }
}

TEST_CASE("make_log_softmax_parameters: 22 bits where there are as many, a ratio above 1024 counts as that") {
    using kernel::make_log_softmax_parameters;
    static_assert(make_log_softmax_parameters(1.0f, 1.0f).multiplier == 1 << 20);
    static_assert(make_log_softmax_parameters(4.0f, 1.0f) ==
                  kernel::log_softmax_parameters{1 << 21, 19, 0.69314718055994530942 / 0x1p26 * 0x1p19});
    CHECK(make_log_softmax_parameters(1e20f, 1.0f) == make_log_softmax_parameters(1024.0f, 1.0f));
    for (const float ratio : {1e-6f, 0.3f, 1.9f, 2.1f, 77.0f, 1000.0f}) {
        const auto p = make_log_softmax_parameters(ratio, 1.0f);
        CHECK(p.multiplier < 1 << 22);
        CHECK(p.shift >= 11);
        if (p.shift < 20) CHECK(p.multiplier >= 1 << 21);
    }
}
