// SPDX-License-Identifier: BSD-3-Clause
// What each requantization policy keeps of the scales around a channel, bit for bit.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include <zeropoint/operators/requantization.hpp>

#include "../support/made_up.hpp"

namespace {

/// Calls f(scales, bias) for scales over many powers of two.
template <class F> void for_each_scales(F f) {
    made_up::generator next(1);
    for (int i = 0; i != 2000; ++i) {
        const auto scale = [&] { return std::ldexp(next.real(1, 2), next.integer(-20, 4)); };
        const zp::channel_scales scales{scale(), scale(), scale()};
        f(scales, next.real(-100, 100));
    }
}

}  // namespace

TEST_CASE("requantization: nearest_even rounds the multiplier once, from double") {
    int differ = 0;
    for_each_scales([&](const zp::channel_scales& s, float bias) {
        float first = 0, second = 0;
        zp::nearest_even::prepare(s, bias, first, second);
        CHECK(first == static_cast<float>(double{s.input} * double{s.weight} / double{s.output}));
        CHECK(second == 0);
        differ += first != s.input * s.weight / s.output;
    });
    CHECK(differ > 100);
}

TEST_CASE("requantization: float_bias rounds every step to float, as FBGEMM does") {
    int differ = 0;
    for_each_scales([&](const zp::channel_scales& s, float bias) {
        float first = 0, second = 0;
        zp::float_bias::prepare(s, bias, first, second);
        const volatile float product = s.input * s.weight;
        CHECK(first == product / s.output);
        CHECK(second == bias / product);
        differ += first != static_cast<float>(double{s.input} * double{s.weight} / double{s.output});
    });
    CHECK(differ > 100);
}

TEST_CASE("requantization: fixed point keeps 31 bits and a shift, the same for both roundings") {
    for_each_scales([](const zp::channel_scales& s, float bias) {
        std::int32_t first = 0, second = 0, again = 0, shift = 0;
        zp::fixed_point_double_rounding::prepare(s, bias, first, second);
        zp::fixed_point_single_rounding::prepare(s, bias, again, shift);
        const double factor = double{s.input} * double{s.weight} / double{s.output};
        int exponent = 0;
        const double fraction = std::frexp(factor, &exponent);
        const bool vanishes = exponent < -31;  // below 2^-32
        CHECK(second == (vanishes ? 0 : exponent));
        CHECK(first == (vanishes ? 0 : static_cast<std::int32_t>(std::round(fraction * 0x1p31))));
        CHECK(again == first);
        CHECK(shift == second);
    });
}
