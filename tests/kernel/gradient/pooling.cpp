// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/pooling_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

enum class pooling { largest, average, average_without_padding, adaptive };

/// One image in double: the definition. Padding is the same at both ends.
doubles forward(pooling kind, const kernel::conv2d_geometry& g, const doubles& x) {
    doubles y;
    for (int row = 0; row != g.out.height; ++row)
        for (int column = 0; column != g.out.width; ++column)
            for (int c = 0; c != g.out.channels; ++c) {
                double sum = 0, most = -INFINITY, n = 0;
                int r0 = row * g.stride_height - g.padding_top, r1 = r0 + g.window_height();
                int c0 = column * g.stride_width - g.padding_left, c1 = c0 + g.window_width();
                if (kind == pooling::adaptive) {
                    r0 = row * g.in.height / g.out.height, r1 = ((row + 1) * g.in.height - 1) / g.out.height + 1;
                    c0 = column * g.in.width / g.out.width, c1 = ((column + 1) * g.in.width - 1) / g.out.width + 1;
                }
                for (int r = r0; r < r1; r += g.dilation_height)
                    for (int k = c0; k < c1; k += g.dilation_width) {
                        const bool inside = r >= 0 && r < g.in.height && k >= 0 && k < g.in.width;
                        const bool padded = r < g.in.height + g.padding_top && k < g.in.width + g.padding_left;
                        if (inside || (kind == pooling::average && padded)) n += 1;
                        if (!inside) continue;
                        const double value = x[static_cast<std::size_t>((r * g.in.width + k) * g.in.channels + c)];
                        sum += value;
                        most = std::max(most, value);
                    }
                y.push_back(kind == pooling::largest ? most : sum / n);
            }
    return y;
}

template <class Arch>
void gradient(pooling kind, const kernel::conv2d_geometry& g, const float* x, const float* dy, float* dx) {
    if (kind == pooling::largest) kernel::max_pool2d_gradient<Arch>(g, x, dy, dx);
    else if (kind == pooling::adaptive) kernel::adaptive_avg_pool2d_gradient<Arch>(g.in, g.out, dy, dx);
    else kernel::avg_pool2d_gradient<Arch>(g, kind == pooling::average, dy, dx);
}

void compare(pooling kind, const kernel::conv2d_geometry& g) {
    CAPTURE(static_cast<int>(kind));
    CAPTURE(g.in.height);
    CAPTURE(g.kernel_height);
    CAPTURE(g.stride_height);
    CAPTURE(g.in.channels);
    const floats values = arrays::reals(static_cast<std::size_t>(g.in.size()), 1),
                 dy = arrays::reals(static_cast<std::size_t>(g.out.size()), 2);
    doubles x = widened(values);
    const doubles expected = differences(
        x, [&] { return weighted(forward(kind, g, x), dy); }, 1e-5);
    arrays::for_each_architecture([&]<class Arch>() {
        floats dx(values.size(), NAN);
        gradient<Arch>(kind, g, values.data(), dy.data(), dx.data());
        CHECK(distance(dx, expected) < 1e-6);
    });
}

kernel::conv2d_geometry window(int height, int width, int channels, int size, int stride, int padding, int dilation,
                               bool hangs_over = false) {
    const int covered = (size - 1) * dilation + 1, more = hangs_over ? stride - 1 : 0;
    return {{height, width, channels},
            {(height + 2 * padding - covered + more) / stride + 1, (width + 2 * padding - covered + more) / stride + 1,
             channels},
            size,
            size,
            stride,
            stride,
            padding,
            padding,
            dilation,
            dilation,
            channels};
}

}  // namespace

TEST_CASE("gradients of max and average pooling: windows, strides, padding, ceil_mode") {
    for (const int channels : {1, 3, 8, 19}) {
        for (const pooling kind : {pooling::largest, pooling::average, pooling::average_without_padding}) {
            compare(kind, window(6, 4, channels, 2, 2, 0, 1));
            compare(kind, window(5, 6, channels, 3, 2, 1, 1));
            compare(kind, window(5, 5, channels, 3, 1, 1, 1));
            compare(kind, window(6, 5, channels, 3, 2, 0, 1, true));
            compare(kind, window(7, 7, channels, 2, 3, 0, 1));  // inputs under no window
        }
        compare(pooling::largest, window(7, 6, channels, 2, 1, 1, 2));
    }
}

TEST_CASE("gradients of adaptive average pooling") {
    for (const int channels : {1, 8, 11}) {
        for (const int cells : {1, 2, 3, 7}) {
            kernel::conv2d_geometry g;
            g.in = {5, 7, channels};
            g.out = {std::min(cells, 5), cells, channels};
            compare(pooling::adaptive, g);
        }
    }
}

TEST_CASE("gradient of max pooling: of equal values the first one gets it") {
    arrays::for_each_architecture([&]<class Arch>() {
        const kernel::conv2d_geometry g = window(4, 4, 9, 2, 2, 0, 1);
        const floats x(static_cast<std::size_t>(g.in.size()), 1.0f),
            dy = arrays::reals(static_cast<std::size_t>(g.out.size()), 2);
        floats dx(x.size(), NAN);
        kernel::max_pool2d_gradient<Arch>(g, x.data(), dy.data(), dx.data());
        for (int row = 0; row != 4; ++row)
            for (int column = 0; column != 4; ++column)
                for (int c = 0; c != 9; ++c) {
                    const bool first = row % 2 == 0 && column % 2 == 0;
                    const float given = dy[static_cast<std::size_t>((row / 2 * 2 + column / 2) * 9 + c)];
                    CHECK(dx[static_cast<std::size_t>((row * 4 + column) * 9 + c)] == (first ? given : 0.0f));
                }
    });
}
