// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/movement/pad.hpp>
#include <zeropoint/kernel/reference/rearrange.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
using kernel::pad_mode;
using zp::shape;

template <class T>
void compare(const shape& in, const kernel::pad_sides& sides, pad_mode mode, T value, std::uint64_t seed) {
    arrays::generator next(seed);
    std::vector<T> x(static_cast<std::size_t>(in.size()));
    for (T& number : x) number = static_cast<T>(next());
    const shape out = kernel::padded_shape(in, sides);
    CAPTURE(zp::to_string(in));
    CAPTURE(zp::to_string(out));
    CAPTURE(static_cast<int>(mode));
    std::vector<T> expected(static_cast<std::size_t>(out.size()));
    kernel::reference::pad(in, out, sides, mode, value, x.data(), expected.data());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(expected.size());
        kernel::pad<Arch>(in, sides, mode, value, x.data(), y.data());
        CHECK(y == expected);
    });
}

}  // namespace

TEST_CASE("pad: every mode, any sides of every axis") {
    arrays::generator next(1);
    for (int i = 0; i != zp_test::fewer(1000); ++i) {
        const auto mode = static_cast<pad_mode>(i % 5);
        const shape in{next.integer(1, 6), next.integer(1, 12),
                       next.integer(0, 1) ? next.integer(1, 6) : next.integer(7, 70)};
        kernel::pad_sides sides;
        for (int axis = 0; axis != 3; ++axis) {
            const int most = std::min(kernel::most_padding(mode, kernel::extent_of(in, axis)), axis == 2 ? 40 : 7);
            if (axis == 2 && next.integer(0, 2) != 0) continue;
            sides.before[axis] = next.integer(0, most);
            sides.after[axis] = next.integer(0, 2) == 0 ? most : next.integer(0, most);
        }
        compare<std::uint8_t>(in, sides, mode, static_cast<std::uint8_t>(next()), next());
        compare<std::int8_t>(in, sides, mode, static_cast<std::int8_t>(next()), next());
        compare<float>(in, sides, mode, next.real(-1, 1), next());
    }
}

TEST_CASE("pad: PyTorch's documented examples") {
    const std::vector<float> x = {0, 1, 2, 3};
    const auto padded = [&](pad_mode mode) {
        std::vector<float> y(9);
        kernel::pad<zp::portable>({1, 4, 1}, {{0, 3, 0}, {0, 2, 0}}, mode, 9.0f, x.data(), y.data());
        return y;
    };
    CHECK(padded(pad_mode::constant) == std::vector<float>{9, 9, 9, 0, 1, 2, 3, 9, 9});
    CHECK(padded(pad_mode::reflect) == std::vector<float>{3, 2, 1, 0, 1, 2, 3, 2, 1});
    CHECK(padded(pad_mode::symmetric) == std::vector<float>{2, 1, 0, 0, 1, 2, 3, 3, 2});
    CHECK(padded(pad_mode::replicate) == std::vector<float>{0, 0, 0, 0, 1, 2, 3, 3, 3});
    CHECK(padded(pad_mode::circular) == std::vector<float>{1, 2, 3, 0, 1, 2, 3, 0, 1});
}
