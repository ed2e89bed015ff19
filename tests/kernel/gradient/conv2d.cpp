// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/float/float_conv2d.hpp>
#include <zeropoint/kernel/gradient/conv2d_batch.hpp>
#include <zeropoint/kernel/gradient/conv2d_input_gradient.hpp>
#include <zeropoint/kernel/gradient/conv2d_weight_gradient.hpp>

#include "../support/finite_differences.hpp"
#include "../support/guarded_floats.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

std::size_t size(std::ptrdiff_t count) { return static_cast<std::size_t>(count); }

/// One image in double: the definition.
doubles forward(const kernel::conv2d_geometry& g, const double* x, const doubles& w, const doubles& bias) {
    doubles y;
    for (int row = 0; row != g.out.height; ++row)
        for (int column = 0; column != g.out.width; ++column)
            for (int o = 0; o != g.out.channels; ++o) {
                double sum = bias[size(o)];
                for (int ky = 0; ky != g.kernel_height; ++ky)
                    for (int kx = 0; kx != g.kernel_width; ++kx)
                        for (int i = 0; i != g.group_in(); ++i) {
                            const int r = row * g.stride_height - g.padding_top + ky * g.dilation_height;
                            const int c = column * g.stride_width - g.padding_left + kx * g.dilation_width;
                            if (r < 0 || r >= g.in.height || c < 0 || c >= g.in.width) continue;
                            const int channel = o / g.group_out() * g.group_in() + i;
                            sum += x[(r * g.in.width + c) * g.in.channels + channel] *
                                   w[size(((o * g.kernel_height + ky) * g.kernel_width + kx) * g.group_in() + i)];
                        }
                y.push_back(sum);
            }
    return y;
}

/// The samples of a mini-batch with room between them.
struct problem {
    kernel::conv2d_geometry g;
    int samples;
    std::ptrdiff_t x_stride, y_stride;
    floats x, w, bias, dy;

    problem(const kernel::conv2d_geometry& geometry, int count)
        : g(geometry),
          samples(count),
          x_stride(g.in.size() + 3),
          y_stride(g.out.size() + 5),
          x(arrays::reals(size(x_stride * count), 1, -1, 1)),
          w(arrays::reals(size(g.out.channels * g.depth()), 2, -1, 1)),
          bias(arrays::reals(size(g.out.channels), 3, -1, 1)),
          dy(arrays::reals(size(y_stride * count), 4, -1, 1)) {}
};

/// Every sample's values, without what is between them.
floats packed(const floats& values, int samples, std::ptrdiff_t stride, int count) {
    floats all;
    for (int i = 0; i != samples; ++i)
        all.insert(all.end(), values.begin() + i * stride, values.begin() + i * stride + count);
    return all;
}

/// What dw held does not matter where it begins.
template <class Arch> void compare_begun(const problem& p, const kernel::conv2d_geometry& g, int samples) {
    const auto gradient = [&](float held, bool begins) {
        floats dw(p.w.size(), held), scratch(kernel::conv2d_weight_gradient_scratch<Arch>(g), NAN);
        kernel::conv2d_weight_gradient<Arch>(g, samples, {p.x.data(), p.x_stride}, {p.dy.data(), p.y_stride}, dw.data(),
                                             scratch.data(), begins);
        return dw;
    };
    CHECK(arrays::same_bits(gradient(NAN, true), gradient(0, false)));
}

void compare(const kernel::conv2d_geometry& g, int samples = 2) {
    CAPTURE(g.in.height);
    CAPTURE(g.in.width);
    CAPTURE(g.in.channels);
    CAPTURE(g.out.channels);
    CAPTURE(g.kernel_height);
    CAPTURE(g.stride_height);
    CAPTURE(g.dilation_height);
    CAPTURE(g.groups);
    const problem p(g, samples);
    doubles x = widened(packed(p.x, samples, p.x_stride, g.in.size())), w = widened(p.w), bias = widened(p.bias);
    const floats dy = packed(p.dy, samples, p.y_stride, g.out.size());
    const auto output = [&] {
        doubles y;
        for (int i = 0; i != samples; ++i) {
            const doubles one = forward(g, x.data() + i * g.in.size(), w, bias);
            y.insert(y.end(), one.begin(), one.end());
        }
        return y;
    };
    const auto loss = [&] { return weighted(output(), dy); };
    const doubles y = output(), dx = differences(x, loss), dw = differences(w, loss), db = differences(bias, loss);
    arrays::for_each_architecture([&]<class Arch>() {
        floats scratch(kernel::conv2d_batch_scratch<Arch>(g), NAN), our_y(p.dy.size(), NAN);
        kernel::conv2d_batch<Arch>(g, samples, {p.x.data(), p.x_stride}, p.w.data(), p.bias.data(), -zp::infinity,
                                   zp::infinity, {our_y.data(), p.y_stride}, scratch.data());
        CHECK(distance(packed(our_y, samples, p.y_stride, g.out.size()), y) < 2e-6);

        scratch.assign(kernel::conv2d_input_gradient_scratch<Arch>(g), NAN);
        floats our_dx(p.x.size(), NAN);
        kernel::conv2d_input_gradient<Arch>(g, samples, {p.dy.data(), p.y_stride}, p.w.data(),
                                            {our_dx.data(), p.x_stride}, scratch.data());
        CHECK(distance(packed(our_dx, samples, p.x_stride, g.in.size()), dx) < 2e-6);

        scratch.assign(kernel::conv2d_weight_gradient_scratch<Arch>(g), NAN);
        const floats before = beginning(w.size());
        floats our_dw = before, our_db(bias.size());
        kernel::conv2d_weight_gradient<Arch>(g, samples, {p.x.data(), p.x_stride}, {p.dy.data(), p.y_stride},
                                             our_dw.data(), scratch.data());
        CHECK(distance(without(our_dw, before), dw) < 4e-6);
        kernel::add_channel_sums<Arch>(samples, {p.dy.data(), p.y_stride}, g.out.pixels(), g.out.channels,
                                       our_db.data());
        CHECK(distance(our_db, db) < 2e-6);
        compare_begun<Arch>(p, g, samples);

        // Samples one by one leave the same bits, but for tiles, which are summed first.
        if (kernel::float_winograd<Arch>::takes(g)) return;
        floats alone = before;
        for (int i = 0; i != samples; ++i)
            kernel::conv2d_weight_gradient<Arch>(g, 1, {p.x.data() + i * p.x_stride, 0},
                                                 {p.dy.data() + i * p.y_stride, 0}, alone.data(), scratch.data());
        CHECK(arrays::same_bits(alone, our_dw));
    });
}

/// The same bits from operands and scratch that touch unreadable pages.
template <class Arch> void compare_guarded(const kernel::conv2d_geometry& g, int samples) {
    const std::ptrdiff_t in = g.in.size(), out = g.out.size();
    const floats x = arrays::reals(size(in * samples), 1), w = arrays::reals(size(g.out.channels * g.depth()), 2),
                 y = arrays::reals(size(out * samples), 3);
    const auto run = [&](int what, guard end) {
        const std::size_t needed = what == 0   ? kernel::conv2d_batch_scratch<Arch>(g)
                                   : what == 1 ? kernel::conv2d_input_gradient_scratch<Arch>(g)
                                               : kernel::conv2d_weight_gradient_scratch<Arch>(g);
        const guarded_floats xs(x, end), ws(w, end), ys(y, end), scratch(floats(needed, NAN), end);
        const kernel::float_batch images{xs.data(), in}, outputs{ys.data(), out};
        if (what == 0)
            kernel::conv2d_batch<Arch>(g, samples, images, ws.data(), nullptr, -1, 1, outputs, scratch.data());
        if (what == 1) kernel::conv2d_input_gradient<Arch>(g, samples, outputs, ws.data(), images, scratch.data());
        if (what == 2) kernel::conv2d_weight_gradient<Arch>(g, samples, images, outputs, ws.data(), scratch.data());
        return what == 0 ? ys.values() : what == 1 ? xs.values() : ws.values();
    };
    for (const int what : {0, 1, 2}) CHECK(arrays::same_bits(run(what, guard::before), run(what, guard::behind)));
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

TEST_CASE("gradients of conv2d: kernels, strides, padding, dilation, odd channels") {
    for (const int in : {1, 3, 8, 17}) {
        for (const int out : {1, 19}) {
            compare(geometry(4, 3, in, out, 1, 1, 0, 1, 1));
            compare(geometry(4, 5, in, out, 3, 1, 1, 1, 1));
            compare(geometry(5, 4, in, out, 3, 2, 1, 1, 1), 3);
        }
    }
    compare(geometry(7, 6, 9, 5, 3, 1, 2, 2, 1));
    compare(geometry(8, 7, 3, 4, 3, 3, 0, 1, 1));
    compare(geometry(6, 6, 2, 3, 5, 2, 2, 1, 1));
    compare(geometry(5, 5, 4, 3, 1, 2, 0, 1, 1));  // inputs that no window reads
    compare(geometry(9, 8, 3, 2, 2, 4, 0, 2, 1));  // and rows of them
    compare(geometry(2, 2, 16, 16, 3, 1, 1, 1, 1), 5);
    compare(geometry(20, 40, 16, 2, 3, 1, 1, 1, 1), 1);  // cut into strips
    compare(geometry(21, 38, 16, 2, 3, 2, 1, 1, 1), 1);
}

TEST_CASE("gradients of conv2d: tiles of 3x3 windows, whole ones and parts, more than are at hand together") {
    constexpr auto takes = [](const kernel::conv2d_geometry& g) {
        return kernel::float_winograd<zp::default_architecture>::takes(g);
    };
    for (const int padding : {0, 1, 2}) {
        const auto g = geometry(8, 8, 17, 18, 3, 1, padding, 1, 1);  // of channels more than vectors have lanes
        CHECK(takes(g));
        compare(g);
    }
    const kernel::conv2d_geometry one_sided{{6, 9, 17}, {8, 8, 20}, 3, 3, 1, 1, 3, 0};
    CHECK(takes(one_sided));
    compare(one_sided);
    compare(geometry(16, 12, 8, 8, 3, 1, 1, 1, 1), 5);
    CHECK_FALSE(takes(geometry(2, 2, 64, 64, 3, 1, 1, 1, 1)));  // a quarter of a tile
    CHECK_FALSE(takes(geometry(8, 8, 64, 64, 3, 2, 1, 1, 1)));
    CHECK_FALSE(takes(geometry(8, 8, 64, 64, 3, 1, 2, 2, 1)));
    CHECK_FALSE(takes(geometry(8, 8, 64, 64, 3, 1, 1, 1, 2)));
}

TEST_CASE("gradients of conv2d: what begins does so in the first strip of several") {
    const auto compare_all = [](const kernel::conv2d_geometry& g, int samples) {
        const problem p(g, samples);
        arrays::for_each_architecture([&]<class Arch>() { compare_begun<Arch>(p, g, samples); });
    };
    compare_all(geometry(14, 13, 67, 35, 1, 1, 0, 1, 1), 2);
    compare_all({{1, 1, 67}, {1, 1, 35}}, 150);
    compare_all({{1, 1, 67}, {1, 1, 35}}, 0);
}

TEST_CASE("gradients of conv2d: rectangular kernels and one-sided padding") {
    compare({{6, 7, 9}, {6, 5, 4}, 3, 2, 1, 1, 1, 0, 1, 2, 1});
    compare({{4, 5, 8}, {4, 6, 5}, 1, 4, 1, 1, 0, 2, 1, 1, 1});
    compare({{3, 3, 4}, {8, 8, 5}, 2, 2, 1, 1, 3, 3, 1, 1, 1});  // windows wholly in the padding
}

TEST_CASE("gradients of conv2d: groups and depthwise") {
    compare(geometry(4, 4, 6, 4, 3, 1, 1, 1, 2));
    compare(geometry(4, 3, 16, 6, 3, 2, 1, 1, 2));
    compare(geometry(4, 4, 3, 6, 3, 1, 1, 1, 3));  // two filters a channel
    for (const int channels : {2, 7, 8, 19}) {
        compare(geometry(4, 5, channels, channels, 3, 1, 1, 1, channels));
        compare(geometry(5, 4, channels, channels, 3, 2, 1, 1, channels));
        compare(geometry(6, 5, channels, channels, 3, 1, 2, 2, channels));
    }
}

TEST_CASE("gradients of conv2d: linear layers, one row a sample and several") {
    for (const int in : {1, 5, 8, 20})
        for (const int out : {1, 10, 33}) compare({{1, 1, in}, {1, 1, out}}, in == 8 ? 13 : 4);
    compare({{1, 1, 68}, {1, 1, 35}}, 5);  // a large product
    compare({{13, 11, 67}, {13, 11, 33}}, 2);
    compare({{5, 1, 12}, {5, 1, 9}}, 3);
}

// qemu 7.2 reads 16 bytes where a scalar vfmadd of x86 reads 4, and so beyond a page's end: programs for emulators leave this out.
#if !(defined(__FMA__) && defined(ZEROPOINT_TEST_FEWER))
TEST_CASE("gradients of conv2d: nothing beyond operands and scratch is touched") {
    arrays::for_each_architecture([]<class Arch>() {
        for (const int in : {1, 5, 8, 9, 17}) {
            for (const int out : {1, 7, 16, 18}) {
                compare_guarded<Arch>(geometry(5, 4, in, out, 3, 1, 1, 1, 1), 3);
                compare_guarded<Arch>(geometry(5, 6, in, out, 3, 2, 1, 1, 1), 2);
                compare_guarded<Arch>(geometry(3, 3, in, out, 1, 1, 0, 1, 1), 2);
                compare_guarded<Arch>({{1, 1, in}, {1, 1, out}}, 5);
            }
            compare_guarded<Arch>(geometry(5, 4, in * 3, in * 3, 3, 1, 1, 1, in * 3), 2);
            compare_guarded<Arch>(geometry(5, 4, in * 2, in * 2, 3, 2, 0, 1, 2), 2);
        }
        compare_guarded<Arch>({{1, 1, 67}, {1, 1, 35}}, 7);
        compare_guarded<Arch>(geometry(20, 40, 16, 3, 3, 1, 1, 1, 1), 2);  // cut into strips
    });
}
#endif
