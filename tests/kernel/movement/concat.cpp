// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/movement/concat.hpp>
#include <zeropoint/scheme/requantization.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

template <class T>
void compare(const std::vector<T>& x, std::size_t pixels, std::size_t in_channels, std::size_t before,
             std::size_t after) {
    const std::size_t out_channels = before + in_channels + after;
    std::vector<T> expected(pixels * out_channels, T{42});
    for (std::size_t pixel = 0; pixel != pixels; ++pixel)
        for (std::size_t c = 0; c != in_channels; ++c)
            expected[pixel * out_channels + before + c] = x[pixel * in_channels + c];
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(pixels * out_channels, T{42});
        kernel::copy_channels<Arch>(x.data(), pixels, in_channels, y.data() + before, out_channels);
        CHECK(y == expected);
    });
}

}  // namespace

TEST_CASE("copy_channels: any number of channels, at any place, others untouched") {
    for (std::size_t in_channels = 1; in_channels <= 130; ++in_channels) {
        const std::size_t pixels = in_channels % 4 + 1;
        for (const auto& [before, after] : {std::pair<std::size_t, std::size_t>{0, 0}, {3, 0}, {0, 5}, {16, 33}}) {
            compare(arrays::codes<std::uint8_t>(pixels * in_channels, in_channels), pixels, in_channels, before, after);
            compare(arrays::codes<std::int8_t>(pixels * in_channels, in_channels), pixels, in_channels, before, after);
            compare(arrays::reals(pixels * in_channels, in_channels), pixels, in_channels, before, after);
        }
    }
}

TEST_CASE("copy_channels through a table: another grid") {
    std::array<std::uint8_t, 256> table{};
    arrays::generator next(9);
    for (int problem = 0; problem != zp_test::fewer(500); ++problem) {
        kernel::make_lookup_table<std::int8_t>([](double x) { return x; }, next.real(0.1f, 2.0f),
                                               next.integer(-128, 127), next.real(0.1f, 2.0f), next.integer(0, 255), 0,
                                               255, table.data());
        const auto channels = static_cast<std::size_t>(problem % 50 == 0 ? 1000 + problem : next.integer(1, 70));
        const auto pixels = static_cast<std::size_t>(next.integer(1, 90));
        const auto x = arrays::codes<std::int8_t>(pixels * channels, next());
        std::vector<std::uint8_t> expected(pixels * (channels + 9), 1);
        for (std::size_t i = 0; i != x.size(); ++i)
            expected[i / channels * (channels + 9) + 4 + i % channels] = table[static_cast<std::size_t>(x[i] + 128)];
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::uint8_t> y(expected.size(), 1);
            kernel::copy_channels<Arch>(x.data(), pixels, channels, table.data(), y.data() + 4, channels + 9);
            CHECK(y == expected);
        });
    }
}

TEST_CASE("copy_channels of 16-bit codes onto another grid") {
    arrays::generator next(10);
    for (int problem = 0; problem != zp_test::fewer(200); ++problem) {
        const double factor = next.real(0.1f, 2.0f);
        const auto multiplier = zp::quantize_multiplier_single_rounding(factor);
        const kernel::rescaling p{multiplier.multiplier, multiplier.shift, 0, 0, 0, -32768, 32767};
        const auto channels = static_cast<std::size_t>(next.integer(1, 70));
        const auto x = arrays::codes<std::int16_t>(5 * channels, next());
        std::vector<std::int16_t> expected(5 * (channels + 9), 1);
        for (std::size_t i = 0; i != x.size(); ++i) {
            const double exact = std::ldexp(static_cast<double>(x[i]) * multiplier.multiplier, multiplier.shift - 31);
            expected[i / channels * (channels + 9) + 4 + i % channels] =
                static_cast<std::int16_t>(std::clamp(std::nearbyint(exact), -32768.0, 32767.0));
        }
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::int16_t> y(expected.size(), 1);
            kernel::copy_channels<Arch>(x.data(), 5, channels, p, y.data() + 4, channels + 9);
            CHECK(y == expected);
        });
    }
}
