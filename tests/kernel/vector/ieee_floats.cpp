// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/vector/ieee_floats.hpp>

#include "../../support/arrays.hpp"

namespace kernel = zp::kernel;

TEST_CASE("round_to_nearest: halves to even, everything beside them, and what is below int32") {
    std::vector<float> values = {0.0f, -0.0f, 0x1p-149f, -0x1p-126f, 0x1.fffffep30f, -0x1p31f, 8388609.0f, -8388611.0f};
    for (int half = -40; half != 40; ++half) {
        const float tie = static_cast<float>(half) + 0.5f;
        for (const float value : {tie, std::nextafter(tie, 1e9f), std::nextafter(tie, -1e9f)}) values.push_back(value);
    }
    arrays::generator next(1);
    for (const int exponent : {1, 8, 22, 23, 24, 30})
        for (int i = 0; i != 100; ++i) values.push_back(next.real(-1.0f, 1.0f) * std::ldexp(1.0f, exponent));
    arrays::for_each_architecture([&]<class Arch>() {
        if constexpr (zp::has_vectors<Arch>) {
            using floats = xsimd::batch<float, Arch>;
            std::array<std::int32_t, floats::size> rounded{};
            const auto in_every_lane = [&](float value) {
                kernel::round_to_nearest(floats(value)).store_unaligned(rounded.data());
                for (const std::int32_t lane : rounded) REQUIRE(lane == rounded[0]);
                return rounded[0];
            };
            for (const float value : values) {
                INFO(value);
                CHECK(in_every_lane(value) == static_cast<std::int32_t>(std::nearbyint(double{value})));
            }
            for (const float value : {-0x1.000002p31f, -1e20f, -std::numeric_limits<float>::infinity()})
                CHECK(in_every_lane(value) == std::numeric_limits<std::int32_t>::min());
        }
    });
}

TEST_CASE("divide: the quotients of scalars") {
    arrays::for_each_architecture([]<class Arch>() {
        if constexpr (kernel::has_ieee_vectors<Arch>) {
            using floats = xsimd::batch<float, Arch>;
            arrays::generator next(2);
            std::array<float, floats::size> a{}, b{}, quotients{};
            for (int i = 0; i != 2000; ++i) {
                for (float& value : a) value = next.real(-1000.0f, 1000.0f);
                for (float& value : b) value = next.real(-1.0f, 1.0f);
                kernel::divide(floats::load_unaligned(a.data()), floats::load_unaligned(b.data()))
                    .store_unaligned(quotients.data());
                bool same = true;
                for (std::size_t k = 0; k != floats::size; ++k) same = same && quotients[k] == a[k] / b[k];
                REQUIRE(same);
            }
        }
    });
}
