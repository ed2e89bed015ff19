// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/gradient/conv_transpose2d_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

std::size_t size(std::ptrdiff_t count) { return static_cast<std::size_t>(count); }

/// One image in double: the definition.
void add_forward(const kernel::conv_transpose2d_geometry& g, const double* x, const doubles& w, double* y) {
    for (int row = 0; row != g.in.height; ++row)
        for (int column = 0; column != g.in.width; ++column)
            for (int tap = 0; tap != g.taps(); ++tap) {
                const int r = row * g.stride_height - g.padding_top + tap / g.kernel_width * g.dilation_height;
                const int c = column * g.stride_width - g.padding_left + tap % g.kernel_width * g.dilation_width;
                if (r < 0 || r >= g.out.height || c < 0 || c >= g.out.width) continue;
                for (int o = 0; o != g.out.channels; ++o)
                    for (int i = 0; i != g.group_in(); ++i)
                        y[(r * g.out.width + c) * g.out.channels + o] +=
                            x[(row * g.in.width + column) * g.in.channels + o / g.group_out() * g.group_in() + i] *
                            w[size((o * g.taps() + tap) * g.group_in() + i)];
            }
}

void compare(const kernel::conv_transpose2d_geometry& g, int samples = 2) {
    CAPTURE(g.in.height);
    CAPTURE(g.in.channels);
    CAPTURE(g.out.channels);
    CAPTURE(g.kernel_height);
    CAPTURE(g.stride_height);
    CAPTURE(g.groups);
    const std::ptrdiff_t in = g.in.size(), out = g.out.size();
    const floats xs = arrays::reals(size(in * samples), 1, -1, 1),
                 ws = arrays::reals(size(g.out.channels * g.depth()), 2, -1, 1),
                 dy = arrays::reals(size(out * samples), 3, -1, 1);
    doubles x = widened(xs), w = widened(ws);
    const auto output = [&] {
        doubles y(dy.size());
        for (int i = 0; i != samples; ++i) add_forward(g, x.data() + i * in, w, y.data() + i * out);
        return y;
    };
    const auto loss = [&] { return weighted(output(), dy); };
    const doubles y = output(), dx = differences(x, loss), dw = differences(w, loss);
    arrays::for_each_architecture([&]<class Arch>() {
        floats our_y(dy.size(), NAN), scratch(kernel::conv_transpose2d_batch_scratch<Arch>(g), NAN);
        kernel::conv_transpose2d_batch<Arch>(g, samples, {xs.data(), in}, ws.data(), nullptr, -zp::infinity,
                                             zp::infinity, {our_y.data(), out}, scratch.data());
        CHECK(distance(our_y, y) < 2e-6);
        scratch.assign(kernel::conv_transpose2d_input_gradient_scratch<Arch>(g), NAN);
        floats our_dx(x.size(), NAN);
        kernel::conv_transpose2d_input_gradient<Arch>(g, samples, {dy.data(), out}, ws.data(), {our_dx.data(), in},
                                                      scratch.data());
        CHECK(distance(our_dx, dx) < 2e-6);
        scratch.assign(kernel::conv_transpose2d_weight_gradient_scratch<Arch>(g), NAN);
        const floats before = beginning(w.size());
        floats our_dw = before;
        kernel::conv_transpose2d_weight_gradient<Arch>(g, samples, {xs.data(), in}, {dy.data(), out}, our_dw.data(),
                                                       scratch.data());
        CHECK(distance(without(our_dw, before), dw) < 4e-6);
    });
}

kernel::conv_transpose2d_geometry geometry(int height, int width, int in, int out, int kernel, int stride, int padding,
                                           int dilation, int groups, int extra = 0) {
    const auto extent = [&](int of) {
        return kernel::conv_transpose_extent(of, kernel, stride, padding, dilation, extra);
    };
    return {{height, width, in},
            {extent(height), extent(width), out},
            kernel,
            kernel,
            stride,
            stride,
            padding,
            padding,
            dilation,
            dilation,
            groups};
}

}  // namespace

TEST_CASE("gradients of conv_transpose2d: kernels, strides, padding, dilation, groups") {
    for (const int in : {1, 3, 8, 17}) {
        for (const int out : {1, 7, 18}) {
            compare(geometry(3, 4, in, out, 2, 2, 0, 1, 1));
            compare(geometry(3, 3, in, out, 3, 2, 1, 1, 1, 1));
        }
    }
    compare(geometry(4, 3, 5, 4, 4, 2, 1, 1, 1));
    compare(geometry(4, 3, 5, 4, 3, 1, 1, 1, 1));
    compare(geometry(3, 3, 4, 2, 2, 3, 0, 1, 1));  // outputs that no input reaches
    compare(geometry(3, 3, 4, 2, 3, 2, 2, 2, 1));
    compare(geometry(3, 4, 6, 4, 3, 2, 1, 1, 2, 1));
    compare(geometry(3, 4, 6, 6, 3, 2, 1, 1, 6, 1), 3);
    compare(geometry(12, 13, 16, 3, 2, 2, 0, 1, 1), 3);  // more rows than a strip has
}
