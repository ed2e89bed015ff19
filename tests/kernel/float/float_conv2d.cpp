// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/float/float_conv2d.hpp>
#include <zeropoint/kernel/reference/conv2d.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

/// With small integers as values every sum is exact in float: the integer oracle must be met exactly, in any order.
void compare(const kernel::conv2d_geometry& g, bool with_bias) {
    CAPTURE(g.in.height);
    CAPTURE(g.in.width);
    CAPTURE(g.in.channels);
    CAPTURE(g.out.channels);
    CAPTURE(g.kernel_height);
    CAPTURE(g.groups);
    arrays::generator next(static_cast<std::uint64_t>(g.in.size() + g.out.channels));
    std::vector<std::int8_t> codes(static_cast<std::size_t>(g.in.size())),
        filters(static_cast<std::size_t>(g.out.channels * g.depth()));
    for (auto& value : codes) value = static_cast<std::int8_t>(next.integer(-20, 20));
    for (auto& value : filters) value = static_cast<std::int8_t>(next.integer(-20, 20));
    std::vector<std::int32_t> offsets(static_cast<std::size_t>(g.out.channels));
    for (auto& value : offsets) value = next.integer(-500, 500);
    std::vector<float> expected(static_cast<std::size_t>(g.out.size()));
    kernel::reference::conv2d(
        g, codes.data(), 0, filters.data(), nullptr, with_bias ? offsets.data() : nullptr,
        [](std::int32_t sum, int) { return std::min(std::max(static_cast<float>(sum), -1500.0f), 2000.0f); },
        expected.data());
    const std::vector<float> x(codes.begin(), codes.end()), weights(filters.begin(), filters.end()),
        bias(offsets.begin(), offsets.end());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<float> y(expected.size(), NAN), scratch(kernel::conv2d_float_scratch<Arch>(g), NAN);
        kernel::conv2d_float<Arch>(g, x.data(), weights.data(), with_bias ? bias.data() : nullptr, -1500.0f, 2000.0f,
                                   y.data(), scratch.data());
        CHECK(y == expected);
    });
}

kernel::conv2d_geometry geometry(int height, int width, int in, int out, int size, int stride, int padding,
                                 int dilation, int groups) {
    const int covered = (size - 1) * dilation + 1;
    return {{height, width, in},
            {(height + 2 * padding - covered) / stride + 1, (width + 2 * padding - covered) / stride + 1, out},
            size,
            size,
            stride,
            stride,
            padding,
            padding,
            dilation,
            dilation,
            groups};
}

}  // namespace

TEST_CASE("conv2d_float: kernels, strides, padding, dilation, odd channels") {
    for (const int in : {1, 3, 8, 17}) {
        for (const int out : {1, 7, 16, 33, 40}) {
            compare(geometry(5, 6, in, out, 1, 1, 0, 1, 1), true);
            compare(geometry(5, 7, in, out, 3, 1, 1, 1, 1), true);
            compare(geometry(8, 9, in, out, 3, 2, 1, 1, 1), false);
            compare(geometry(9, 8, in, out, 3, 1, 2, 2, 1), true);
            compare(geometry(7, 7, in, out, 7, 1, 3, 1, 1), false);
            compare(geometry(3, 3, in, out, 3, 1, 0, 1, 1), true);
            compare(geometry(2, 2, in, out, 3, 1, 1, 1, 1), true);
        }
    }
}

TEST_CASE("conv2d_float: rectangular kernels and one-sided padding") {
    for (const int out : {5, 32}) {
        compare({{6, 7, 9}, {6, 5, out}, 3, 2, 1, 1, 1, 0, 1, 2, 1}, true);
        compare({{6, 7, 9}, {6, 8, out}, 1, 4, 1, 1, 0, 2, 1, 1, 1}, true);
        compare({{4, 4, 16}, {9, 9, out}, 2, 2, 1, 1, 3, 3, 1, 1, 1}, true);  // windows wholly in the padding
    }
}

TEST_CASE("conv2d_float: groups and depthwise") {
    for (const int groups : {2, 3, 4}) {
        for (const int pixels : {2, 6}) {
            compare(geometry(pixels, pixels, groups * 5, groups * 3, 3, 1, 1, 1, groups), true);
            compare(geometry(pixels, pixels, groups * 16, groups * 32, 3, 2, 1, 1, groups), false);
            compare(geometry(pixels, pixels, groups, groups * 2, 3, 1, 1, 1, groups), true);  // two filters a channel
        }
    }
    for (const int channels : {2, 3, 8, 15, 16, 17, 40, 67}) {
        compare(geometry(6, 7, channels, channels, 3, 1, 1, 1, channels), true);
        compare(geometry(9, 7, channels, channels, 5, 2, 2, 1, channels), false);
        compare(geometry(9, 7, channels, channels, 3, 1, 2, 2, channels), true);
        compare(geometry(1, 2, channels, channels, 5, 1, 2, 1, channels), true);
    }
}

TEST_CASE("conv2d_float: linear layers, one row and several") {
    for (const int rows : {1, 2, 7, 8, 20}) {
        for (const int in : {1, 5, 16, 64, 100}) {
            for (const int out : {1, 8, 10, 33}) compare({{rows, 1, in}, {rows, 1, out}}, rows % 2 == 0);
        }
    }
}

TEST_CASE("conv2d_float: without a clamp, close to the exact sums") {
    const kernel::conv2d_geometry g = geometry(9, 9, 37, 20, 3, 1, 1, 1, 1);
    const auto x = arrays::reals(static_cast<std::size_t>(g.in.size()), 1);
    const auto w = arrays::reals(static_cast<std::size_t>(g.out.channels * g.depth()), 2);
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<float> y(static_cast<std::size_t>(g.out.size())), scratch(kernel::conv2d_float_scratch<Arch>(g));
        kernel::conv2d_float<Arch>(g, x.data(), w.data(), nullptr, -zp::infinity, zp::infinity, y.data(),
                                   scratch.data());
        for (int pixel = 0; pixel != g.out.pixels(); ++pixel) {
            for (int o = 0; o != g.out.channels; ++o) {
                double sum = 0;
                for (int tap = 0; tap != 9; ++tap) {
                    const int iy = pixel / 9 - 1 + tap / 3, ix = pixel % 9 - 1 + tap % 3;
                    if (iy < 0 || iy >= 9 || ix < 0 || ix >= 9) continue;
                    for (int i = 0; i != 37; ++i)
                        sum += double{x[static_cast<std::size_t>((iy * 9 + ix) * 37 + i)]} *
                               double{w[static_cast<std::size_t>((o * 9 + tap) * 37 + i)]};
                }
                CHECK(std::abs(double{y[static_cast<std::size_t>(pixel * 20 + o)]} - sum) < 1e-3);
            }
        }
    });
}

TEST_CASE("conv2d_float_scratch is a constant expression") {
    static_assert(kernel::conv2d_float_scratch<zp::portable>({{8, 8, 16}, {8, 8, 16}, 3, 3, 1, 1, 1, 1}) == 0);
    static_assert(kernel::conv2d_float_scratch<zp::portable>({{8, 8, 16}, {8, 8, 16}, 3, 3, 1, 1, 1, 1, 1, 1, 16}) ==
                  144);
    CHECK(kernel::conv2d_float_scratch<zp::default_architecture>({{1, 1, 16}, {1, 1, 16}}) == 0);
}
