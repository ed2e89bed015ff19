// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/pooling.hpp>
#include <zeropoint/kernel/reference/pooling.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;

/// Output extent as PyTorch computes it: in ceil_mode the last window must start inside the input or the padding before
/// it.
int pooled(int in, int size, int stride, int padding, int dilation, bool ceil_mode) {
    const int covered = in + 2 * padding - dilation * (size - 1) - 1;
    int out = (covered + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (out - 1) * stride >= in + padding) --out;
    return out;
}

struct pool_case {
    int height, width, kernel_height, kernel_width, stride, padding, dilation;
    bool ceil_mode;
};

constexpr pool_case cases[] = {
    {4, 4, 2, 2, 2, 0, 1, false}, {5, 7, 2, 2, 2, 0, 1, false}, {5, 7, 2, 2, 2, 0, 1, true},
    {7, 7, 3, 3, 2, 1, 1, false}, {6, 6, 3, 3, 2, 1, 1, true},  {8, 5, 3, 2, 1, 1, 1, false},
    {1, 1, 1, 1, 1, 0, 1, false}, {9, 9, 3, 3, 1, 1, 2, false}, {6, 9, 3, 3, 3, 1, 2, true},
    {1, 9, 1, 4, 3, 0, 1, true},  {2, 2, 3, 3, 2, 1, 1, true},  {18, 17, 17, 16, 1, 0, 1, false},
};

kernel::conv2d_geometry geometry_of(const pool_case& c, int channels) {
    kernel::conv2d_geometry g;
    g.in = {c.height, c.width, channels};
    g.out = {pooled(c.height, c.kernel_height, c.stride, c.padding, c.dilation, c.ceil_mode),
             pooled(c.width, c.kernel_width, c.stride, c.padding, c.dilation, c.ceil_mode), channels};
    g.kernel_height = c.kernel_height, g.kernel_width = c.kernel_width;
    g.stride_height = g.stride_width = c.stride;
    g.padding_top = g.padding_left = c.padding;
    g.dilation_height = g.dilation_width = c.dilation;
    return g;
}

template <class T> std::vector<T> values(int count, std::uint64_t seed) {
    if constexpr (std::is_same_v<T, float>) return arrays::reals(static_cast<std::size_t>(count), seed);
    else return arrays::codes<T>(static_cast<std::size_t>(count), seed);
}

template <class T> void compare_max(const kernel::conv2d_geometry& g) {
    const auto x = values<T>(g.in.size(), static_cast<std::uint64_t>(g.in.channels));
    std::vector<T> expected(static_cast<std::size_t>(g.out.size()));
    kernel::reference::max_pool2d(g, x.data(), expected.data());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(expected.size());
        kernel::max_pool2d<Arch>(g, x.data(), y.data());
        CHECK(y == expected);
    });
}

template <class T>
void compare_average(const kernel::conv2d_geometry& g, bool count_include_pad, std::int32_t zero_point) {
    const auto x = values<T>(g.in.size(), static_cast<std::uint64_t>(g.in.channels));
    std::vector<T> expected(static_cast<std::size_t>(g.out.size()));
    kernel::reference::avg_pool2d(g, count_include_pad, zero_point, x.data(), expected.data());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(expected.size());
        kernel::avg_pool2d<Arch>(g, count_include_pad, zero_point, x.data(), y.data());
        CHECK(y == expected);
    });
}

template <class T> void compare_adaptive(zp::shape in, zp::shape out, std::int32_t zero_point) {
    const auto x = values<T>(in.size(), 3);
    std::vector<T> expected(static_cast<std::size_t>(out.size()));
    kernel::reference::adaptive_avg_pool2d(in, out, zero_point, x.data(), expected.data());
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<T> y(expected.size());
        kernel::adaptive_avg_pool2d<Arch>(in, out, zero_point, x.data(), y.data());
        CHECK(y == expected);
    });
}

}  // namespace

TEST_CASE("max_pool2d: kernels, strides, padding, dilation, ceil_mode") {
    for (const pool_case& c : cases) {
        for (const int channels : {1, 3, 8, 16, 17, 33, 48, 65, 130}) {
            compare_max<std::uint8_t>(geometry_of(c, channels));
            compare_max<std::int8_t>(geometry_of(c, channels));
            compare_max<float>(geometry_of(c, channels));
        }
    }
}

TEST_CASE("max_pool2d, avg_pool2d, adaptive_avg_pool2d: random problems") {
    arrays::generator next(21);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        pool_case c{};
        c.kernel_height = next.integer(1, 4), c.kernel_width = next.integer(1, 4);
        c.stride = next.integer(1, 3), c.dilation = next.integer(1, 2);
        c.padding = next.integer(0, std::min(c.kernel_height, c.kernel_width) / 2);
        c.height = next.integer(1, 6) + c.dilation * (c.kernel_height - 1);
        c.width = next.integer(1, 6) + c.dilation * (c.kernel_width - 1);
        c.ceil_mode = next.integer(0, 1) == 1;
        const int channels = next.integer(1, 70), zero_point = next.integer(-128, 127);
        compare_max<std::uint8_t>(geometry_of(c, channels));
        compare_max<std::int8_t>(geometry_of(c, channels));
        const zp::shape in{c.height, c.width, channels}, out{next.integer(1, 4), next.integer(1, 4), channels};
        compare_adaptive<std::uint8_t>(in, out, zero_point + 128);
        compare_adaptive<std::int8_t>(in, out, zero_point);
        c.dilation = 1;
        const bool include = next.integer(0, 1) == 1;
        compare_average<std::uint8_t>(geometry_of(c, channels), include, zero_point + 128);
        compare_average<std::int8_t>(geometry_of(c, channels), include, zero_point);
    }
}

TEST_CASE("max_pool2d: padding never wins, not even over the lowest code") {
    const std::vector<std::int8_t> x(9 * 20, -128);
    std::vector<std::int8_t> y(9 * 20, 1);
    kernel::conv2d_geometry g{{3, 3, 20}, {3, 3, 20}, 3, 3, 1, 1, 1, 1};
    kernel::max_pool2d<zp::default_architecture>(g, x.data(), y.data());
    CHECK(y == x);
}

TEST_CASE("avg_pool2d: integer definition, with and without the padding in the count") {
    for (pool_case c : cases) {
        c.dilation = 1;
        for (const int channels : {1, 3, 8, 16, 17, 33, 48, 65, 130}) {
            for (const bool count_include_pad : {false, true}) {
                const kernel::conv2d_geometry g = geometry_of(c, channels);
                for (const int zero_point : {0, 7, 255})
                    compare_average<std::uint8_t>(g, count_include_pad, zero_point);
                for (const int zero_point : {-128, 0, 127})
                    compare_average<std::int8_t>(g, count_include_pad, zero_point);
            }
        }
    }
}

TEST_CASE("avg_pool2d: every sum of a window of two to nine codes rounds as the integers do") {
    for (int n = 2; n <= 9; ++n) {  // the window holds the sum in its first two codes
        constexpr int channels = 511;
        const kernel::conv2d_geometry g{{1, n, channels}, {1, 1, channels}, 1, n};
        std::vector<std::uint8_t> x(static_cast<std::size_t>(n * channels), 0);
        for (int c = 0; c != channels; ++c) {
            x[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(std::min(c, 255));
            x[static_cast<std::size_t>(c + channels)] = static_cast<std::uint8_t>(c - std::min(c, 255));
        }
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::uint8_t> y(channels);
            kernel::avg_pool2d<Arch>(g, false, 0, x.data(), y.data());
            for (int c = 0; c != channels; ++c)
                CHECK(int{y[static_cast<std::size_t>(c)]} == zp::divide_half_even(c, n));
        });
    }
}

TEST_CASE("avg_pool2d: float windows, as sum / n") {
    for (pool_case c : cases) {
        c.dilation = 1;
        for (const int channels : {1, 5, 16, 37}) {
            const kernel::conv2d_geometry g = geometry_of(c, channels);
            const auto x = arrays::reals(static_cast<std::size_t>(g.in.size()), 9);
            std::vector<float> plain(static_cast<std::size_t>(g.out.size()));
            kernel::avg_pool2d<zp::portable>(g, true, 0, x.data(), plain.data());
            std::vector<float> sums(plain.size());
            for (std::size_t i = 0; i != sums.size(); ++i) {
                const int pixel = static_cast<int>(i) / channels, channel = static_cast<int>(i) % channels;
                double sum = 0;
                int n = 0;
                for (int ky = 0; ky != g.kernel_height; ++ky) {
                    for (int kx = 0; kx != g.kernel_width; ++kx) {
                        const int iy = pixel / g.out.width * g.stride_height - g.padding_top + ky;
                        const int ix = pixel % g.out.width * g.stride_width - g.padding_left + kx;
                        if (iy < g.in.height + g.padding_top && ix < g.in.width + g.padding_left) ++n;
                        if (iy < 0 || iy >= g.in.height || ix < 0 || ix >= g.in.width) continue;
                        sum += double{x[static_cast<std::size_t>((iy * g.in.width + ix) * channels + channel)]};
                    }
                }
                CHECK(plain[i] == doctest::Approx(sum / n).epsilon(1e-5));
            }
            arrays::for_each_architecture([&]<class Arch>() {
                std::vector<float> y(plain.size());
                kernel::avg_pool2d<Arch>(g, true, 0, x.data(), y.data());
                CHECK(arrays::same_bits(y, plain));
            });
        }
    }
}

TEST_CASE("adaptive_avg_pool2d: PyTorch's cells, global pooling, many windows") {
    for (const int channels : {1, 10, 16, 40, 64, 100}) {
        for (const auto& [in, out] : {std::pair<zp::shape, zp::shape>{{7, 7, 1}, {1, 1, 1}},
                                      {{7, 5, 1}, {3, 2, 1}},
                                      {{6, 6, 1}, {4, 4, 1}},
                                      {{3, 3, 1}, {5, 7, 1}},
                                      {{1, 1, 1}, {1, 1, 1}},
                                      {{20, 20, 1}, {1, 1, 1}}}) {
            const zp::shape from{in.height, in.width, channels}, to{out.height, out.width, channels};
            compare_adaptive<std::uint8_t>(from, to, 31);
            compare_adaptive<std::int8_t>(from, to, -128);
        }
    }
}

TEST_CASE("adaptive_avg_pool2d: windows so large that 16-bit sums and float division no longer do") {
    for (const int side : {200, 300}) {
        const zp::shape in{side, side, 17};
        std::vector<std::uint8_t> x(static_cast<std::size_t>(in.size()), 255);
        // 254 half of the time but for one pixel: an average next to a tie, which a float quotient of 300 * 300 misses.
        const int half = in.pixels() / 2 - 1;
        std::fill_n(x.begin(), half * in.channels, std::uint8_t{254});
        std::vector<std::uint8_t> expected(17);
        kernel::reference::adaptive_avg_pool2d(in, {1, 1, 17}, 0, x.data(), expected.data());
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<std::uint8_t> y(17);
            kernel::adaptive_avg_pool2d<Arch>(in, {1, 1, 17}, 0, x.data(), y.data());
            CHECK(y == expected);
        });
    }
}
