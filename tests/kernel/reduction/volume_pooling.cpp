// SPDX-License-Identifier: BSD-3-Clause
// Pooling of volumes against the definitions, over random geometries and values: all codes are equal.
#include <cstdint>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reduction/volume_pooling.hpp>
#include <zeropoint/kernel/reference/pooling.hpp>

#include "../../support/arrays.hpp"

namespace {

namespace kernel = zp::kernel;
namespace reference = zp::kernel::reference;
using kernel::conv3d_geometry;

int windows(int in, int size, int stride, int padding, int dilation, bool ceil_mode) {
    const int room = in + 2 * padding - dilation * (size - 1) - 1;
    if (room < 0) return 0;
    int count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (count - 1) * stride >= in + padding) --count;
    return count;
}

conv3d_geometry random_pool(arrays::generator& next, bool dilated) {
    for (;;) {
        conv3d_geometry g;
        zp::kernel::conv2d_geometry& p = g.plane;
        const bool ceil_mode = next.integer(0, 1) == 0;
        g.in_depth = next.integer(1, 6);
        const int channels = next.integer(0, 2) == 0 ? next.integer(1, 4) : next.integer(5, 70);
        p.in = {next.integer(1, 7), next.integer(1, 7), channels};
        g.kernel_depth = next.integer(1, 4), p.kernel_height = next.integer(1, 3), p.kernel_width = next.integer(1, 3);
        g.stride_depth = next.integer(1, 3), p.stride_height = next.integer(1, 3), p.stride_width = next.integer(1, 3);
        g.padding_front = next.integer(0, g.kernel_depth / 2), p.padding_top = next.integer(0, p.kernel_height / 2);
        p.padding_left = next.integer(0, p.kernel_width / 2);
        if (dilated) g.dilation_depth = next.integer(1, 3), p.dilation_width = next.integer(1, 2);
        p.out = {windows(p.in.height, p.kernel_height, p.stride_height, p.padding_top, p.dilation_height, ceil_mode),
                 windows(p.in.width, p.kernel_width, p.stride_width, p.padding_left, p.dilation_width, ceil_mode),
                 channels};
        g.out_depth = windows(g.in_depth, g.kernel_depth, g.stride_depth, g.padding_front, g.dilation_depth, ceil_mode);
        if (p.out.height > 0 && p.out.width > 0 && g.out_depth > 0) return g;
    }
}

template <class T> std::vector<T> values(int count, std::uint64_t seed) {
    if constexpr (std::is_same_v<T, float>) return arrays::reals(static_cast<std::size_t>(count), seed);
    else return arrays::codes<T>(static_cast<std::size_t>(count), seed);
}
template <class T> std::vector<T> nothing(int count) { return std::vector<T>(static_cast<std::size_t>(count), T{77}); }

}  // namespace

TEST_CASE_TEMPLATE("max_pool3d: random kernels, strides, padding, dilation, ceil_mode", T, std::uint8_t, std::int8_t,
                   float) {
    arrays::generator next(5);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const conv3d_geometry g = random_pool(next, true);
        const auto x = values<T>(g.in_size(), static_cast<std::uint64_t>(i));
        auto expected = nothing<T>(g.out_size());
        reference::max_pool3d(g, x.data(), expected.data());
        arrays::for_each_architecture([&]<class Arch>() {
            auto y = nothing<T>(g.out_size()), scratch = nothing<T>(kernel::max_pool3d_scratch(g));
            kernel::max_pool3d<Arch>(g, x.data(), y.data(), scratch.data());
            CHECK(y == expected);
        });
    }
}

TEST_CASE_TEMPLATE("avg_pool3d: the integer definition", T, std::uint8_t, std::int8_t) {
    arrays::generator next(6);
    constexpr int low = std::numeric_limits<T>::lowest();
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const conv3d_geometry g = random_pool(next, false);
        const auto x = values<T>(g.in_size(), static_cast<std::uint64_t>(i));
        const bool count_include_pad = next.integer(0, 1) == 0;
        const int zero_point = low + (i % 5 == 0 ? 0 : i % 5 == 1 ? 255 : next.integer(0, 255));
        auto expected = nothing<T>(g.out_size());
        reference::avg_pool3d(g, count_include_pad, zero_point, x.data(), expected.data());
        arrays::for_each_architecture([&]<class Arch>() {
            auto y = nothing<T>(g.out_size());
            kernel::avg_pool3d<Arch>(g, count_include_pad, zero_point, x.data(), y.data());
            CHECK(y == expected);
        });
    }
}

TEST_CASE_TEMPLATE("adaptive_avg_pool3d: PyTorch's cells along every axis", T, std::uint8_t, std::int8_t) {
    arrays::generator next(7);
    constexpr int low = std::numeric_limits<T>::lowest();
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const int channels = next.integer(1, 70);
        const zp::shape in{next.integer(1, 7), next.integer(1, 7), channels, next.integer(1, 7)};
        const zp::shape out{next.integer(1, 5), next.integer(1, 5), channels, next.integer(1, 5)};
        const auto x = values<T>(in.size(), static_cast<std::uint64_t>(i));
        const int zero_point = low + next.integer(0, 255);
        auto expected = nothing<T>(out.size());
        reference::adaptive_avg_pool3d(in, out, zero_point, x.data(), expected.data());
        arrays::for_each_architecture([&]<class Arch>() {
            auto y = nothing<T>(out.size());
            kernel::adaptive_avg_pool3d<Arch>(in, out, zero_point, x.data(), y.data());
            CHECK(y == expected);
        });
    }
}

TEST_CASE("avg_pool3d: float windows, as sum / n, the same bits on every vector") {
    arrays::generator next(8);
    for (int i = 0; i != zp_test::fewer(500); ++i) {
        const conv3d_geometry g = random_pool(next, false);
        const auto x = arrays::reals(static_cast<std::size_t>(g.in_size()), static_cast<std::uint64_t>(i));
        std::vector<double> exact;
        double sum = 0;
        int n = 0;
        reference::for_each_pooled(
            g, [&] { sum = n = 0; },
            [&](int plane, int row, int column, int c, bool inside) {
                const zp::shape& in = g.plane.in;
                if (inside)
                    sum += double{
                        x[static_cast<std::size_t>(((plane * in.height + row) * in.width + column) * in.channels + c)]};
                n += inside;
            },
            [&] { exact.push_back(sum / std::max(n, 1)); });
        std::vector<float> plain(exact.size());
        kernel::avg_pool3d<zp::portable>(g, false, 0, x.data(), plain.data());
        for (std::size_t k = 0; k != plain.size(); ++k)
            CHECK(double{plain[k]} == doctest::Approx(exact[k]).epsilon(1e-5));
        arrays::for_each_architecture([&]<class Arch>() {
            std::vector<float> y(plain.size());
            kernel::avg_pool3d<Arch>(g, false, 0, x.data(), y.data());
            CHECK(arrays::same_bits(y, plain));
        });
    }
}

TEST_CASE("max_pool3d: a float volume's NaN loses, as in an image") {
    std::vector<float> x(2 * 4 * 4 * 8, -1.0f);
    x[9] = std::numeric_limits<float>::quiet_NaN();
    conv3d_geometry g;
    g.plane.in = {4, 4, 8}, g.plane.out = {2, 2, 8};
    g.plane.kernel_height = g.plane.kernel_width = g.plane.stride_height = g.plane.stride_width = 2;
    g.kernel_depth = g.in_depth = 2;
    std::vector<float> y(2 * 2 * 8), scratch(4 * 4 * 8);
    kernel::max_pool3d<zp::default_architecture>(g, x.data(), y.data(), scratch.data());
    CHECK(y == std::vector<float>(y.size(), -1.0f));
}
