// SPDX-License-Identifier: BSD-3-Clause
// Codes of 16 bits value by value: sums, products, changes of the grid, tables with lines between, pools and clamps.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/elementwise/clamp.hpp>
#include <zeropoint/kernel/elementwise/elementwise_int16.hpp>
#include <zeropoint/kernel/epilogue/table_int16.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>
#include <zeropoint/scheme/requantization.hpp>

namespace {

using arch = zp::default_architecture;
using word = std::int16_t;
using words = std::vector<word>;

/// Random codes, the ends of the range among them.
words codes(std::mt19937& random, std::size_t count) {
    words all(count);
    for (word& code : all) code = static_cast<word>(random());
    for (std::size_t i = 0; i < count; i += 5)
        all[i] = i % 2 == 0 ? std::numeric_limits<word>::min() : std::numeric_limits<word>::max();
    return all;
}
/// numerator / 2^shift, halves to even, by the remainder.
std::int64_t shifted(std::int64_t numerator, int shift) {
    const std::int64_t divisor = std::int64_t{1} << shift, size = std::abs(numerator), rest = size % divisor;
    const std::int64_t whole =
        size / divisor + (2 * rest > divisor || (2 * rest == divisor && size / divisor % 2 == 1));
    return numerator < 0 ? -whole : whole;
}
word limited(std::int64_t code, std::int64_t low = -32768, std::int64_t high = 32767) {
    return static_cast<word>(std::min(std::max(code, low), high));
}

}  // namespace

TEST_CASE("elementwise_int16: sums round once") {
    std::mt19937 random(1);
    for (const float b_scale : {0.5f, 1.0f, 0.013f, 3e-9f, 700.0f}) {
        const float a_scale = 0.25f, y_scale = 0.75f;
        const words a = codes(random, 131), b = codes(random, 131);
        const auto p = zp::kernel::make_add_int16_parameters(a_scale, b_scale, y_scale, -30000, 32767);
        const double larger = std::max(a_scale, b_scale) / double{y_scale};
        CHECK(p.shift == std::min(28 - std::ilogb(larger), 45));
        CHECK(p.a_multiplier == std::nearbyint(std::ldexp(double{a_scale} / y_scale, p.shift)));
        CHECK(p.b_multiplier == std::nearbyint(std::ldexp(double{b_scale} / y_scale, p.shift)));
        words y(a.size()), expected;
        zp::kernel::add_int16<arch>(a.data(), b.data(), a.size(), p, y.data());
        for (std::size_t i = 0; i != a.size(); ++i)
            expected.push_back(limited(
                shifted(std::int64_t{p.a_multiplier} * a[i] + std::int64_t{p.b_multiplier} * b[i], p.shift), -30000));
        CHECK((y == expected));
        zp::kernel::add_int16<arch>(a.data(), y.data(), a.size(), p, y.data());  // in place
    }
    words a{std::numeric_limits<word>::min(), 32767, 3, 5, -3, -5, 1, -1}, b{a};
    for (int i = 2; i != 8; ++i) b[static_cast<std::size_t>(i)] = 0;
    const words half{std::numeric_limits<word>::min(), 32767, 2, 2, -2, -2, 0, 0};  // halves to even
    words expected;
    for (int i = 0; i != 5; ++i) expected.insert(expected.end(), half.begin(), half.end());
    for (int i = 0; i != 4; ++i)
        for (std::size_t k = 0; k != 8; ++k) a.push_back(a[k]), b.push_back(b[k]);
    words y(a.size());
    zp::kernel::add_int16<arch>(a.data(), b.data(), a.size(),
                                zp::kernel::make_add_int16_parameters(1, 1, 2, -32768, 32767), y.data());
    CHECK((y == expected));
}

TEST_CASE("elementwise_int16: products and changes of the grid round once") {
    std::mt19937 random(2);
    const words a = codes(random, 77), b = codes(random, 77);
    for (const double factor : {1.0, 1 / 32768.0, 3e-5, 1e-9, 0.4, 100.0}) {
        const zp::fixed_point_multiplier m = zp::quantize_multiplier_single_rounding(factor);
        const double exact = std::ldexp(double(m.multiplier), m.shift - 31);
        const auto scaled = [&](std::int64_t v) {  // 31 and 30 bits are no double, but nearly
            return static_cast<std::int64_t>(std::nearbyint(std::min(std::max(double(v) * exact, -1e9), 1e9)));
        };
        const zp::kernel::rescaling p{m.multiplier, m.shift, 0, 0, 0, -32768, 32700};
        words y(a.size()), same(a.size());
        zp::kernel::mul_int16<arch>(a.data(), b.data(), a.size(), p, y.data());
        zp::kernel::requantize_codes<arch>(a.data(), a.size(), p, same.data());
        for (std::size_t i = 0; i != a.size(); ++i) {
            CHECK(y[i] == limited(scaled(std::int64_t{a[i]} * b[i]), -32768, 32700));
            CHECK(same[i] == limited(scaled(a[i]), -32768, 32700));
        }
        // Between any two types.
        std::vector<std::int8_t> bytes(a.size());
        std::vector<std::uint8_t> back(a.size());
        std::vector<std::int32_t> wide(a.size());
        zp::kernel::requantize_codes<arch>(a.data(), a.size(), {m.multiplier, m.shift, 0, 0, 5, -100, 127},
                                           bytes.data());
        zp::kernel::requantize_codes<arch>(bytes.data(), a.size(), {m.multiplier, m.shift, 5, 0, 200, 0, 255},
                                           back.data());
        zp::kernel::requantize_codes<arch>(back.data(), a.size(),
                                           {m.multiplier, m.shift, 200, 0, 0, INT32_MIN, INT32_MAX}, wide.data());
        for (std::size_t i = 0; i != a.size(); ++i) {
            CHECK(bytes[i] == limited(scaled(a[i]) + 5, -100, 127));
            CHECK(back[i] == limited(scaled(bytes[i] - 5) + 200, 0, 255));
            CHECK(wide[i] == scaled(back[i] - 200));
        }
    }
}

TEST_CASE("elementwise_int16: a table is within a code of its function, and exact at its nodes") {
    const auto tanh = [](double x) { return std::tanh(x); };
    const auto bent = [](double x) { return x < 0 ? 0.1 * x : x; };
    std::vector<std::int32_t> nodes(zp::kernel::table_int16_nodes);
    words x(65536), y(65536);
    for (int i = 0; i != 65536; ++i) x[static_cast<std::size_t>(i)] = static_cast<word>(i - 32768);
    const auto check = [&](const auto& function, float x_scale, float y_scale, int low, double most) {
        zp::kernel::make_table_int16(function, x_scale, y_scale, nodes.data());
        zp::kernel::table_int16<arch>(x.data(), x.size(), nodes.data(), low, 32767, y.data());
        std::size_t worse = 0;
        for (std::size_t i = 0; i != x.size(); ++i) {
            const double exact = function(double{x_scale} * x[i]) / double{y_scale};
            const double error = std::abs(y[i] - std::min(std::max(exact, double(low)), 32767.0));
            worse += error > (i % 32 == 0 ? 0.505 : most);
        }
        CHECK(worse == 0);
    };
    check(tanh, 4 / 32768.0f, 1 / 32768.0f, -32768, 0.6);
    check(bent, 1 / 4096.0f, 1 / 4000.0f, -32768, 0.51);
    check([](double v) { return v; }, 1.0f, 1.0f, -20000, 0.5);
    CHECK(y.front() == -20000);
    CHECK(y.back() == 32767);
    zp::kernel::make_table_int16([](double) { return std::nan(""); }, 1.0f, 1.0f, nodes.data());
    CHECK(*std::max_element(nodes.begin(), nodes.end()) == 0);
}

TEST_CASE("elementwise_int16: pools and clamps") {
    std::mt19937 random(3);
    for (int channels : {1, 7, 8, 16, 33}) {
        zp::kernel::conv2d_geometry g{
            .in = {6, 5, channels}, .out = {3, 3, channels}, .kernel_height = 3, .kernel_width = 3};
        g.stride_height = g.stride_width = 2;
        g.padding_top = g.padding_left = 1;
        const words x = codes(random, static_cast<std::size_t>(g.in.size()));
        words largest(static_cast<std::size_t>(g.out.size())), mean(largest),
            global(static_cast<std::size_t>(channels));
        zp::kernel::max_pool2d<arch>(g, x.data(), largest.data());
        zp::kernel::avg_pool2d<arch>(g, false, 0, x.data(), mean.data());
        zp::kernel::adaptive_avg_pool2d<arch>(g.in, {1, 1, channels}, 0, x.data(), global.data());
        const auto expect = [&](int top, int left, int height, int width, int c, word highest, word average) {
            int best = -32768, count = 0;
            std::int64_t sum = 0;
            for (int i = std::max(top, 0); i < std::min(top + height, 6); ++i)
                for (int j = std::max(left, 0); j < std::min(left + width, 5); ++j, ++count) {
                    const int code = x[static_cast<std::size_t>((i * 5 + j) * channels + c)];
                    best = std::max(best, code);
                    sum += code;
                }
            const std::int64_t low = sum >= 0 ? sum / count : -((-sum + count - 1) / count), rest = sum - low * count;
            CHECK(highest == best);
            CHECK(average == low + (2 * rest > count || (2 * rest == count && low % 2 != 0)));
        };
        for (int row = 0; row != 3; ++row)
            for (int column = 0; column != 3; ++column)
                for (int c = 0; c != channels; ++c) {
                    const auto at = static_cast<std::size_t>((row * 3 + column) * channels + c);
                    expect(2 * row - 1, 2 * column - 1, 3, 3, c, largest[at], mean[at]);
                }
        for (int c = 0; c != channels; ++c)
            expect(
                0, 0, 6, 5, c,
                [&] {
                    word best = std::numeric_limits<word>::min();
                    for (int i = 0; i != 30; ++i) best = std::max(best, x[static_cast<std::size_t>(i * channels + c)]);
                    return best;
                }(),
                global[static_cast<std::size_t>(c)]);
        words clamped(x.size());
        zp::kernel::clamp<arch>(x.data(), x.size(), word{-5}, word{20000}, clamped.data());
        for (std::size_t i = 0; i != x.size(); ++i) CHECK(clamped[i] == limited(x[i], -5, 20000));
    }
}
