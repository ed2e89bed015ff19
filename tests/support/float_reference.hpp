// SPDX-License-Identifier: BSD-3-Clause
// A float network row by row in double, with plain loops: the oracle of float inference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <zeropoint/operators/common.hpp>

#include "nodes.hpp"

namespace float_reference {

using row_values = std::vector<double>;

/// Calls f(iy, ix, ky, kx) for the positions of one window2d or geometry, those in the padding included.
template <class Window, class F> void for_each_tap(const Window& w, int y, int x, F f) {
    for (int ky = 0; ky != w.kernel_height; ++ky)
        for (int kx = 0; kx != w.kernel_width; ++kx)
            f(y * w.stride_height - w.padding_top + ky * w.dilation_height,
              x * w.stride_width - w.padding_left + kx * w.dilation_width, ky, kx);
}

inline double activate(const zp::operator_kind* kind, float parameter, double x) {
    if (kind == &zp::op::relu) return std::max(x, 0.0);
    if (kind == &zp::op::relu6) return std::min(std::max(x, 0.0), 6.0);
    if (kind == &zp::op::leaky_relu) return x >= 0 ? x : x * double{parameter};
    if (kind == &zp::op::sigmoid) return 1 / (1 + std::exp(-x));
    if (kind == &zp::op::tanh) return std::tanh(x);
    if (kind == &zp::op::hardswish) return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
    return x;
}

/// The weights and bias of a node, its input, and the place of an output value.
struct product {
    const zp::node_view& v;
    const row_values& in;
    const float *weights, *bias;
};

inline double convolved(const product& p, int y, int x, int c) {
    const zp::kernel::conv2d_geometry w = p.v.n.op->geometry(p.v);  // of a linear layer, too
    const zp::shape in = w.in;
    const int group_in = w.group_in(), group_out = w.group_out();
    double sum = double{p.bias[c]};
    for_each_tap(w, y, x, [&](int iy, int ix, int ky, int kx) {
        if (iy < 0 || iy >= in.height || ix < 0 || ix >= in.width) return;
        for (int i = 0; i != group_in; ++i)
            sum += p.in[static_cast<std::size_t>((iy * in.width + ix) * in.channels + c / group_out * group_in + i)] *
                   double{p.weights[((c * w.kernel_height + ky) * w.kernel_width + kx) * group_in + i]};
    });
    return sum;
}

inline double transposed(const product& p, int y, int x, int c) {
    const auto w = zp::options_of<zp::window2d>(p.v.n);
    const zp::shape in = p.v.x_shape();
    const int group_in = in.channels / w.groups, group_out = p.v.y_shape().channels / w.groups;
    double sum = double{p.bias[c]};
    for (int iy = 0; iy != in.height; ++iy)
        for (int ix = 0; ix != in.width; ++ix)
            for (int ky = 0; ky != w.kernel_height; ++ky)
                for (int kx = 0; kx != w.kernel_width; ++kx) {
                    if (iy * w.stride_height - w.padding_top + ky * w.dilation_height != y) continue;
                    if (ix * w.stride_width - w.padding_left + kx * w.dilation_width != x) continue;
                    for (int i = 0; i != group_in; ++i)
                        sum += p.in[static_cast<std::size_t>((iy * in.width + ix) * in.channels +
                                                             c / group_out * group_in + i)] *
                               double{p.weights[((c * w.kernel_height + ky) * w.kernel_width + kx) * group_in + i]};
                }
    return sum;
}

inline double pooled(const zp::node_view& v, const row_values& in, int y, int x, int c) {
    const auto w = zp::options_of<zp::window2d>(v.n);
    const zp::shape s = v.x_shape();
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    int inside = 0, padded = 0;
    for_each_tap(w, y, x, [&](int iy, int ix, int, int) {
        padded += iy < s.height + w.padding_top && ix < s.width + w.padding_left;
        if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) return;
        const double value = in[static_cast<std::size_t>((iy * s.width + ix) * s.channels + c)];
        ++inside;
        sum += value;
        largest = std::max(largest, value);
    });
    return zp_test::is(v.n, zp::op::max_pool2d) ? largest : sum / (w.count_include_pad != 0 ? padded : inside);
}

inline double adaptively_pooled(const zp::node_view& v, const row_values& in, int y, int x, int c) {
    const auto first = [](int i, int size, int cells) { return i * size / cells; };
    const auto behind = [](int i, int size, int cells) { return ((i + 1) * size + cells - 1) / cells; };
    const zp::shape from = v.x_shape(), to = v.y_shape();
    double sum = 0;
    int count = 0;
    for (int iy = first(y, from.height, to.height); iy != behind(y, from.height, to.height); ++iy)
        for (int ix = first(x, from.width, to.width); ix != behind(x, from.width, to.width); ++ix, ++count)
            sum += in[static_cast<std::size_t>((iy * from.width + ix) * from.channels + c)];
    return sum / count;
}

/// The output of one node of a network from those of the nodes before it.
template <class Network>
row_values row_output(const Network& model, const zp::node& n, const std::vector<row_values>& rows) {
    const zp::node_view v = zp_test::view_of(model.rows(), n);
    const auto arrays = [&](int i) { return zp_test::array_of(model, n, i).data(); };
    const zp::shape& s = n.out.extents;
    const auto input = [&](int k) -> const row_values& { return rows[static_cast<std::size_t>(n.inputs[k])]; };
    const auto value_at = [&](std::size_t i, int y, int x, int c) {
        if (zp_test::is(n, zp::op::conv2d) || zp_test::is(n, zp::op::linear))
            return convolved({v, input(0), arrays(0), arrays(1)}, y, x, c);
        if (zp_test::is(n, zp::op::conv_transpose2d)) return transposed({v, input(0), arrays(0), arrays(1)}, y, x, c);
        if (zp_test::is(n, zp::op::batch_norm)) {
            const float *weight = arrays(0), *bias = arrays(1), *mean = arrays(2), *variance = arrays(3);
            return (input(0)[i] - double{mean[c]}) / std::sqrt(double{variance[c]} + double{n.parameter}) *
                       double{weight[c]} +
                   double{bias[c]};
        }
        if (zp_test::is(n, zp::op::max_pool2d) || zp_test::is(n, zp::op::avg_pool2d))
            return pooled(v, input(0), y, x, c);
        if (zp_test::is(n, zp::op::adaptive_avg_pool2d)) return adaptively_pooled(v, input(0), y, x, c);
        if (zp_test::is(n, zp::op::add)) return input(0)[i] + input(1)[i];
        return activate(n.op->kind, n.parameter, input(0)[i]);
    };
    row_values out;
    for (int y = 0; y != s.height; ++y) {
        for (int x = 0; x != s.width; ++x) {
            if (zp_test::is(n, zp::op::concat)) {
                for (int k = 0; k != n.input_count; ++k) {
                    const auto channels = static_cast<std::ptrdiff_t>(input(k).size()) / s.pixels();
                    const auto first = input(k).begin() + (y * s.width + x) * channels;
                    out.insert(out.end(), first, first + channels);
                }
                continue;
            }
            for (int c = 0; c != s.channels; ++c)
                out.push_back(activate(n.fused.clamp == nullptr ? nullptr : n.fused.clamp->kind, n.parameter,
                                       value_at(out.size(), y, x, c)));
        }
    }
    return out;
}

/// The outputs of all rows of a float network (as written, or fused). Custom rows are not computed.
template <class Network> std::vector<row_values> run(const Network& model, std::span<const float> input) {
    std::vector<row_values> rows{row_values(input.begin(), input.end())};
    for (std::size_t i = 1; i != model.rows().size(); ++i) rows.push_back(row_output(model, model.rows()[i], rows));
    return rows;
}

/// The largest |a - b| / max(1, |b|).
template <class A, class B> double difference(const A& a, const B& b) {
    double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i != std::min(a.size(), b.size()); ++i) {
        const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
        const double gap = std::fabs(x - y) / std::max(1.0, std::fabs(y));
        worst = gap <= worst ? worst : gap;  // a NaN stays
        if (gap != gap) return gap;
    }
    return worst;
}

}  // namespace float_reference
