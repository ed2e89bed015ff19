// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/normalize/l2_normalize.hpp>
#include <zeropoint/kernel/reference/reduction.hpp>

#include "../support/binary_problem.hpp"

namespace {

namespace kernel = zp::kernel;

using namespace binary_problem;

template <class X, class Y>
void check(const std::vector<X>& x, std::size_t channels, int x_zero_point, const output_grid& of_y) {
    std::vector<Y> expected(x.size());
    for (std::size_t at = 0; at != x.size(); at += channels) {
        reference::l2_normalize(x.data() + at, channels, x_zero_point, of_y, expected.data() + at);
        double squares = 0;
        for (std::size_t i = at; i != at + channels; ++i) squares += std::pow(x[i] - x_zero_point, 2);
        for (std::size_t i = at; i != at + channels; ++i)
            CHECK(distance(expected[i], squares == 0 ? 0.0 : (x[i] - x_zero_point) / std::sqrt(squares), of_y) <
                  0x1p-15);
    }
    const kernel::output_codes codes{of_y.zero_point, of_y.quant_min, of_y.quant_max, nullptr};
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(x.size());
        const auto run = [&](const auto* from, Y* to) {
            kernel::l2_normalize<Arch>(from, x.size() / channels, channels, x_zero_point, 1 / of_y.scale, codes, to);
        };
        run(x.data(), y.data());
        CHECK(y == expected);
        if constexpr (std::is_same_v<X, Y>) {
            std::vector<X> in_place = x;
            run(in_place.data(), in_place.data());
            CHECK(in_place == expected);
        }
    });
}

template <class X, class Y> void random_problem(zp_test::generator& next) {
    const auto channels =
        static_cast<std::size_t>(next.integer(0, 4) == 0 ? next.integer(60, 300) : next.integer(1, 40));
    const int x_zero_point = random_code<X>(next);
    auto x = arrays::codes<X>(3 * channels, next());
    for (std::size_t c = 0; c != channels; ++c) x[c] = static_cast<X>(x_zero_point);  // a vector of zeros
    if (next.integer(0, 2) == 0)  // lengths that are whole, as of (3, 4), with ties
        for (std::size_t c = channels; c + 1 < 2 * channels; ++c)
            x[c] = static_cast<X>(c == channels ? x_zero_point + (x_zero_point > 64 ? -3 : 3) : x_zero_point);
    constexpr bool is_signed = std::is_signed_v<Y>;
    check<X, Y>(x, channels, x_zero_point,
                {1.0f / 128, is_signed ? 0 : 128, is_signed ? -128 : 0, is_signed ? 127 : 255});
}

}  // namespace

TEST_CASE("l2_normalize: random problems, zeros among them") {
    zp_test::generator next(95);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        random_problem<std::uint8_t, std::uint8_t>(next);
        random_problem<std::int8_t, std::int8_t>(next);
    }
}

TEST_CASE("l2_normalize: ties go to even") {
    // Of 2^16 equal values each is 1 / 256 of their length, half a code.
    const std::vector<std::uint8_t> x(1 << 16, 130);
    check<std::uint8_t, std::uint8_t>(x, x.size(), 128, {1.0f / 128, 128, 0, 255});
    std::vector<std::uint8_t> y(x.size());
    kernel::l2_normalize<zp::default_architecture>(x.data(), 1, x.size(), 128, 128.0f, {128, 0, 255, nullptr},
                                                   y.data());
    CHECK(y == std::vector<std::uint8_t>(x.size(), 128));
}

TEST_CASE("l2_normalize: floats") {
    zp_test::generator next(96);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const auto channels = static_cast<std::size_t>(next.integer(1, 90));
        auto x = arrays::reals(2 * channels, next());
        for (std::size_t c = 0; c != channels; ++c) x[c] = 0;
        double squares = 0;
        for (const float value : x) squares += std::pow(double{value}, 2);
        std::vector<float> y(x.size());
        kernel::l2_normalize<zp::default_architecture>(x.data(), 2, channels, y.data());
        for (std::size_t k = 0; k != y.size(); ++k)
            CHECK(y[k] == doctest::Approx(double{x[k]} / std::sqrt(squares)).epsilon(1e-6));
    }
}
