// SPDX-License-Identifier: BSD-3-Clause
// Gradients of convolutions and pools over volumes, of svdf and of topk, beside finite differences of definitions in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/svdf_gradient.hpp>
#include <zeropoint/kernel/gradient/topk_gradient.hpp>
#include <zeropoint/kernel/gradient/volume_gradient.hpp>
#include <zeropoint/kernel/gradient/volume_pooling_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using namespace gradients;

std::size_t length(std::ptrdiff_t count) { return static_cast<std::size_t>(count); }

/// Every product of a conv3d: visit(output, input, weight) as places.
template <class Visit> void for_each_product(const kernel::conv3d_geometry& g, Visit visit) {
    const kernel::conv2d_geometry& p = g.plane;
    for (int d = 0; d != g.out_depth; ++d)
        for (int r = 0; r != p.out.height; ++r)
            for (int c = 0; c != p.out.width; ++c)
                for (int kd = 0; kd != g.kernel_depth; ++kd)
                    for (int tap = 0; tap != p.taps(); ++tap) {
                        const int plane = g.in_plane(d, kd);
                        const int row = r * p.stride_height - p.padding_top + tap / p.kernel_width * p.dilation_height;
                        const int column =
                            c * p.stride_width - p.padding_left + tap % p.kernel_width * p.dilation_width;
                        if (plane < 0 || plane >= g.in_depth || row < 0 || row >= p.in.height || column < 0 ||
                            column >= p.in.width)
                            continue;
                        for (int o = 0; o != p.out.channels; ++o)
                            for (int i = 0; i != p.group_in(); ++i)
                                visit(length(((d * p.out.height + r) * p.out.width + c) * p.out.channels + o),
                                      length(((plane * p.in.height + row) * p.in.width + column) * p.in.channels +
                                             o / p.group_out() * p.group_in() + i),
                                      length(((o * g.kernel_depth + kd) * p.taps() + tap) * p.group_in() + i));
                    }
}
/// And of a conv_transpose3d.
template <class Visit> void for_each_product(const kernel::conv_transpose3d_geometry& g, Visit visit) {
    const kernel::conv_transpose2d_geometry& p = g.plane;
    for (int d = 0; d != g.in_depth; ++d)
        for (int r = 0; r != p.in.height; ++r)
            for (int c = 0; c != p.in.width; ++c)
                for (int kd = 0; kd != g.kernel_depth; ++kd)
                    for (int tap = 0; tap != p.taps(); ++tap) {
                        const int plane = d * g.stride_depth - g.padding_front + kd * g.dilation_depth;
                        const int row = r * p.stride_height - p.padding_top + tap / p.kernel_width * p.dilation_height;
                        const int column =
                            c * p.stride_width - p.padding_left + tap % p.kernel_width * p.dilation_width;
                        if (plane < 0 || plane >= g.out_depth || row < 0 || row >= p.out.height || column < 0 ||
                            column >= p.out.width)
                            continue;
                        for (int o = 0; o != p.out.channels; ++o)
                            for (int i = 0; i != p.group_in(); ++i)
                                visit(
                                    length(((plane * p.out.height + row) * p.out.width + column) * p.out.channels + o),
                                    length(((d * p.in.height + r) * p.in.width + c) * p.in.channels +
                                           o / p.group_out() * p.group_in() + i),
                                    length(((o * g.kernel_depth + kd) * p.taps() + tap) * p.group_in() + i));
                    }
}
template <class Arch, class... Arguments>
void weight_gradient(const kernel::conv3d_geometry& g, const Arguments&... all) {
    kernel::conv3d_weight_gradient<Arch>(g, all...);
}
template <class Arch, class... Arguments>
void weight_gradient(const kernel::conv_transpose3d_geometry& g, const Arguments&... all) {
    kernel::conv_transpose3d_weight_gradient<Arch>(g, all...);
}
template <class Arch, class... Arguments>
void input_gradient(const kernel::conv3d_geometry& g, const Arguments&... all) {
    kernel::conv3d_input_gradient<Arch>(g, all...);
}
template <class Arch, class... Arguments>
void input_gradient(const kernel::conv_transpose3d_geometry& g, const Arguments&... all) {
    kernel::conv_transpose3d_input_gradient<Arch>(g, all...);
}
template <class Arch> std::size_t scratch_of(const kernel::conv3d_geometry& g) {
    return kernel::conv3d_gradient_scratch<Arch>(g);
}
template <class Arch> std::size_t scratch_of(const kernel::conv_transpose3d_geometry& g) {
    return kernel::conv_transpose3d_gradient_scratch<Arch>(g);
}

/// Three samples in one call, and one behind the other: the same bits.
template <class Geometry> void compare(const Geometry& g) {
    CAPTURE(g.in_depth);
    CAPTURE(g.stride_depth);
    CAPTURE(g.plane.in.channels);
    const int samples = 3;
    const std::ptrdiff_t in = g.in_size(), out = g.out_size();
    const floats xs = arrays::reals(length(in * samples), 1, -1, 1),
                 ws = arrays::reals(length(g.plane.out.channels * g.depth()), 2, -1, 1),
                 dy = arrays::reals(length(out * samples), 3, -1, 1);
    doubles x = widened(xs), w = widened(ws);
    const auto loss = [&] {
        double sum = 0;
        for (std::size_t s = 0; s != samples; ++s)
            for_each_product(g, [&](std::size_t y, std::size_t from, std::size_t weight) {
                sum += double{dy[s * length(out) + y]} * x[s * length(in) + from] * w[weight];
            });
        return sum;
    };
    const doubles dx = differences(x, loss), dw = differences(w, loss);
    arrays::for_each_architecture([&]<class Arch>() {
        const kernel::const_float_batch from{xs.data(), in}, given{dy.data(), out};
        floats scratch(scratch_of<Arch>(g) + 16, NAN), our_dx(x.size(), NAN);
        input_gradient<Arch>(g, samples, given, ws.data(), kernel::float_batch{our_dx.data(), in}, scratch.data());
        CHECK(distance(our_dx, dx) < 3e-6);
        const floats before = beginning(w.size());
        floats our_dw = before, apart = before;
        weight_gradient<Arch>(g, samples, from, given, our_dw.data(), scratch.data());
        CHECK(distance(without(our_dw, before), dw) < 4e-6);
        for (int s = 0; s != samples; ++s)
            weight_gradient<Arch>(g, 1, kernel::const_float_batch{from[s], in},
                                  kernel::const_float_batch{given[s], out}, apart.data(), scratch.data());
        CHECK(apart == our_dw);
    });
}

kernel::conv3d_geometry volume(int depth, int size, int in, int out, int kernel, int stride, int padding, int dilation,
                               int groups = 1) {
    const auto extent = [&](int of) { return (of + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; };
    kernel::conv3d_geometry g;
    g.plane.in = {size, size + 1, in};
    g.plane.out = {extent(size), extent(size + 1), out};
    g.plane.kernel_height = g.plane.kernel_width = g.kernel_depth = kernel;
    g.plane.stride_height = g.plane.stride_width = g.stride_depth = stride;
    g.plane.padding_top = g.plane.padding_left = g.padding_front = padding;
    g.plane.dilation_height = g.plane.dilation_width = g.dilation_depth = dilation;
    g.plane.groups = groups;
    g.in_depth = depth;
    g.out_depth = extent(depth);
    return g;
}
kernel::conv_transpose3d_geometry transposed_volume(int depth, int size, int in, int out, int kernel, int stride,
                                                    int padding, int dilation, int groups = 1) {
    const auto extent = [&](int of) { return kernel::conv_transpose_extent(of, kernel, stride, padding, dilation, 0); };
    kernel::conv_transpose3d_geometry g;
    g.plane.in = {size, size + 1, in};
    g.plane.out = {extent(size), extent(size + 1), out};
    g.plane.kernel_height = g.plane.kernel_width = g.kernel_depth = kernel;
    g.plane.stride_height = g.plane.stride_width = g.stride_depth = stride;
    g.plane.padding_top = g.plane.padding_left = g.padding_front = padding;
    g.plane.dilation_height = g.plane.dilation_width = g.dilation_depth = dilation;
    g.plane.groups = groups;
    g.in_depth = depth;
    g.out_depth = extent(depth);
    return g;
}

enum class pooling { largest, average, average_without_padding, adaptive };

void compare_pools(pooling kind, const kernel::conv3d_geometry& g) {
    CAPTURE(static_cast<int>(kind));
    const kernel::conv2d_geometry& p = g.plane;
    const int channels = p.in.channels;
    const floats values = arrays::reals(length(g.in_size()), 1, -1, 1),
                 dy = arrays::reals(length(g.out_size()), 2, -1, 1);
    doubles x = widened(values);
    struct span {
        int first, last, step, padded;
    };
    const auto along = [&](int index, int in, int out, int extent, int stride, int padding, int dilation) -> span {
        if (kind == pooling::adaptive) return {index * in / out, ((index + 1) * in - 1) / out + 1, 1, 0};
        const int first = index * stride - padding;
        return {first, first + (extent - 1) * dilation + 1, dilation, in + padding};
    };
    const auto loss = [&] {
        double sum = 0;
        std::size_t at = 0;
        for (int d = 0; d != g.out_depth; ++d)
            for (int r = 0; r != p.out.height; ++r)
                for (int c = 0; c != p.out.width; ++c)
                    for (int channel = 0; channel != channels; ++channel, ++at) {
                        const span ds = along(d, g.in_depth, g.out_depth, g.kernel_depth, g.stride_depth,
                                              g.padding_front, g.dilation_depth),
                                   rs = along(r, p.in.height, p.out.height, p.kernel_height, p.stride_height,
                                              p.padding_top, p.dilation_height),
                                   cs = along(c, p.in.width, p.out.width, p.kernel_width, p.stride_width,
                                              p.padding_left, p.dilation_width);
                        double total = 0, most = -INFINITY, n = 0;
                        for (int i = ds.first; i < ds.last; i += ds.step)
                            for (int j = rs.first; j < rs.last; j += rs.step)
                                for (int k = cs.first; k < cs.last; k += cs.step) {
                                    const bool inside = i >= 0 && i < g.in_depth && j >= 0 && j < p.in.height &&
                                                        k >= 0 && k < p.in.width;
                                    n += inside ||
                                         (kind == pooling::average && i < ds.padded && j < rs.padded && k < cs.padded);
                                    if (!inside) continue;
                                    const double value =
                                        x[length(((i * p.in.height + j) * p.in.width + k) * channels + channel)];
                                    total += value;
                                    most = std::max(most, value);
                                }
                        sum += double{dy[at]} * (kind == pooling::largest ? most : total / n);
                    }
        return sum;
    };
    const doubles dx = differences(x, loss, 1e-6);
    arrays::for_each_architecture([&]<class Arch>() {
        floats ours(x.size(), NAN);
        if (kind == pooling::largest) kernel::max_pool3d_gradient<Arch>(g, values.data(), dy.data(), ours.data());
        else if (kind == pooling::adaptive)
            kernel::adaptive_avg_pool3d_gradient<Arch>({p.in.height, p.in.width, channels, g.in_depth},
                                                       {p.out.height, p.out.width, channels, g.out_depth}, dy.data(),
                                                       ours.data());
        else kernel::avg_pool3d_gradient<Arch>(g, kind == pooling::average, dy.data(), ours.data());
        CHECK(distance(ours, dx) < 2e-6);
    });
}

}  // namespace

TEST_CASE("gradient of conv3d: kernels, strides, paddings, dilations, groups") {
    compare(volume(4, 5, 3, 5, 3, 1, 1, 1));
    compare(volume(5, 6, 4, 8, 3, 2, 1, 1));
    compare(volume(5, 5, 4, 6, 2, 1, 0, 2, 2));
    compare(volume(3, 4, 6, 6, 3, 1, 1, 1, 6));  // depthwise
    compare(volume(4, 3, 9, 17, 1, 1, 0, 1));
    compare(volume(2, 4, 2, 3, 3, 3, 2, 1));  // planes of padding alone, and planes that no window meets
}
TEST_CASE("gradient of conv_transpose3d: the same") {
    compare(transposed_volume(3, 3, 3, 5, 2, 2, 0, 1));
    compare(transposed_volume(3, 4, 8, 4, 3, 2, 1, 1));
    compare(transposed_volume(2, 3, 4, 6, 3, 1, 1, 2, 2));
    compare(transposed_volume(4, 2, 5, 9, 1, 1, 0, 1));
}
TEST_CASE("gradient of pools of volumes") {
    for (const pooling kind : {pooling::largest, pooling::average, pooling::average_without_padding}) {
        compare_pools(kind, volume(4, 5, 5, 5, 2, 2, 0, 1));
        compare_pools(kind, volume(5, 6, 9, 9, 3, 2, 1, 1));
    }
    compare_pools(pooling::largest, volume(5, 6, 3, 3, 2, 1, 0, 2));
    kernel::conv3d_geometry cells = volume(5, 6, 4, 4, 1, 1, 0, 1);
    cells.out_depth = 2;
    cells.plane.out = {3, 4, 4};
    compare_pools(pooling::adaptive, cells);
}
TEST_CASE("gradient of svdf: features, weights over time, bias and input; sequences shorter than the memory") {
    for (const auto& extents : {std::array{3, 2, 4, 7, 5}, std::array{5, 1, 6, 3, 4}, std::array{4, 3, 1, 2, 9}}) {
        const int units = extents[0], rank = extents[1], memory = extents[2], steps = extents[3], inputs = extents[4];
        const kernel::svdf_extents s{units, rank, memory};
        const int filters = s.filters();
        const floats xs = arrays::reals(length(2 * steps * inputs), 1, -1, 1),
                     fs = arrays::reals(length(inputs * filters), 2, -1, 1),
                     ts = arrays::reals(length(memory * filters), 3, -1, 1),
                     bs = arrays::reals(length(units), 4, -1, 1),
                     dy = arrays::reals(length(2 * steps * units), 5, -1, 1);
        doubles x = widened(xs), feature = widened(fs), time = widened(ts), bias = widened(bs);
        const auto loss = [&] {
            double sum = 0;
            for (int sample = 0; sample != 2; ++sample)
                for (int step = 0; step != steps; ++step)
                    for (int f = 0; f != filters; ++f) {
                        double y = f % rank == 0 ? bias[length(f / rank)] : 0;
                        for (int m = 0; m != memory; ++m) {
                            const int then = step - memory + 1 + m;
                            double product = 0;
                            for (int i = 0; then >= 0 && i != inputs; ++i)
                                product +=
                                    x[length((sample * steps + then) * inputs + i)] * feature[length(i * filters + f)];
                            y += product * time[length(m * filters + f)];
                        }
                        sum += y * double{dy[length((sample * steps + step) * units + f / rank)]};
                    }
            return sum;
        };
        const doubles dx = differences(x, loss), dfeature = differences(feature, loss), dtime = differences(time, loss),
                      dbias = differences(bias, loss);
        arrays::for_each_architecture([&]<class Arch>() {
            floats ours(x.size(), NAN), scratch(kernel::svdf_gradient_scratch(s, steps), NAN);
            const floats f0 = beginning(fs.size()), t0 = beginning(ts.size()), b0 = beginning(bs.size());
            floats f1 = f0, t1 = t0, b1 = b0;
            for (int sample = 0; sample != 2; ++sample)
                kernel::svdf_gradient<Arch>(s, steps, inputs, xs.data() + sample * steps * inputs, fs.data(), ts.data(),
                                            dy.data() + sample * steps * units, ours.data() + sample * steps * inputs,
                                            f1.data(), t1.data(), b1.data(), scratch.data());
            CHECK(distance(ours, dx) < 3e-6);
            CHECK(distance(without(f1, f0), dfeature) < 3e-6);
            CHECK(distance(without(t1, t0), dtime) < 3e-6);
            CHECK(distance(without(b1, b0), dbias) < 3e-6);
        });
    }
}
TEST_CASE("gradient of topk and sort: to where the values came from, the first of equal ones") {
    const floats xs = arrays::reals(3 * 11, 1, -1, 1);
    for (const std::size_t k : {1u, 4u, 11u}) {
        const floats dy = arrays::reals(3 * k, 2, -1, 1);
        doubles x = widened(xs);
        const auto loss = [&](auto before) {
            double sum = 0;
            for (std::size_t p = 0; p != 3; ++p) {
                doubles row(x.begin() + static_cast<std::ptrdiff_t>(11 * p),
                            x.begin() + static_cast<std::ptrdiff_t>(11 * p + 11));
                std::sort(row.begin(), row.end(), before);
                for (std::size_t i = 0; i != k; ++i) sum += row[i] * double{dy[p * k + i]};
            }
            return sum;
        };
        const doubles down = differences(
                          x, [&] { return loss(std::greater<>()); }, 1e-6),
                      up = differences(
                          x, [&] { return loss(std::less<>()); }, 1e-6);
        std::vector<std::int32_t> order(11);
        floats ours(33, NAN);
        kernel::topk_gradient<zp::portable, true>(xs.data(), dy.data(), 3, 11, k, ours.data(), order.data());
        CHECK(distance(ours, down) < 1e-6);
        kernel::topk_gradient<zp::portable, false>(xs.data(), dy.data(), 3, 11, k, ours.data(), order.data());
        CHECK(distance(ours, up) < 1e-6);
    }
    const float equal[] = {2, 1, 2, 1}, given[] = {5, 6, 7};
    float dx[4];
    std::int32_t order[4];
    kernel::topk_gradient<zp::portable, true>(equal, given, 1, 4, 3, dx, order);
    CHECK(floats(dx, dx + 4) == floats{5, 7, 6, 0});
}
