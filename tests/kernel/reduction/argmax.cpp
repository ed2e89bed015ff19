// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/argmax.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

template <class T> void compare(const std::vector<T>& x, std::size_t channels) {
    const std::size_t pixels = x.size() / channels;
    std::vector<std::int32_t> expected(pixels);
    for (std::size_t p = 0; p != pixels; ++p)
        for (std::size_t c = channels; c-- != 0;)  // from the back, so that the first of equals stays
            if (c == channels - 1 || x[p * channels + c] >= x[p * channels + static_cast<std::size_t>(expected[p])])
                expected[p] = static_cast<std::int32_t>(c);
    CAPTURE(channels);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<std::int32_t> y(pixels);
        kernel::argmax<Arch>(x.data(), pixels, channels, 0, y.data());
        CHECK(y == expected);
        if (channels > 256) return;
        std::vector<std::int8_t> codes(pixels);
        kernel::argmax<Arch>(x.data(), pixels, channels, std::int8_t{-128}, codes.data());
        std::vector<float> floats(pixels);
        kernel::argmax<Arch>(x.data(), pixels, channels, 0.0f, floats.data());
        for (std::size_t p = 0; p != pixels; ++p) {
            CHECK(codes[p] + 128 == expected[p]);
            CHECK(floats[p] == static_cast<float>(expected[p]));
        }
    });
}

}  // namespace

TEST_CASE("argmax: every number of channels, the first of equal values") {
    arrays::generator next(1);
    for (std::size_t channels = 1; channels <= 300; channels += channels < 140 ? 1 : 23) {
        for (int i = 0; i != zp_test::fewer(4); ++i) {
            compare(arrays::codes<std::uint8_t>(3 * channels, next()), channels);
            compare(arrays::codes<std::int8_t>(3 * channels, next()), channels);
            compare(arrays::reals(3 * channels, next()), channels);
            std::vector<std::int8_t> few(3 * channels);  // many equals, everywhere
            for (std::int8_t& code : few) code = static_cast<std::int8_t>(next.integer(-128, -126));
            compare(few, channels);
        }
        compare(std::vector<std::uint8_t>(channels), channels);
    }
}

TEST_CASE("argmax: the largest stands anywhere, alone") {
    for (std::size_t channels = 1; channels <= 140; ++channels) {
        std::vector<std::uint8_t> x(channels * channels, 7);
        for (std::size_t p = 0; p != channels; ++p) x[p * channels + p] = 8;
        compare(x, channels);
        compare(std::vector<std::int8_t>(x.begin(), x.end()), channels);
    }
}

TEST_CASE("argmax: a NaN is the largest, the first of several") {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x = {1, nan, 7, nan, infinity, 2, 3, infinity};
    std::vector<std::int32_t> y(2);
    kernel::argmax<zp::default_architecture>(x.data(), 2, 4, 0, y.data());
    CHECK(y == std::vector<std::int32_t>{1, 0});
}
