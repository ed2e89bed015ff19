// A float network row by row in double, with plain loops: the oracle of float inference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <zeropoint/layer/float_steps.hpp>

namespace float_reference {

using row_values = std::vector<double>;

/// Calls f(iy, ix, ky, kx) for the positions of one window, those in the padding included.
template <class F> void for_each_tap(const zp::node& row, int y, int x, F f) {
    const auto& w = row.window;
    for (int ky = 0; ky != w.kernel_height; ++ky)
        for (int kx = 0; kx != w.kernel_width; ++kx)
            f(y * w.stride_height - w.padding_top + ky * w.dilation_height,
              x * w.stride_width - w.padding_left + kx * w.dilation_width, ky, kx);
}

inline double activate(zp::op kind, float parameter, double x) {
    switch (kind) {
        case zp::op::relu: return std::max(x, 0.0);
        case zp::op::relu6: return std::min(std::max(x, 0.0), 6.0);
        case zp::op::leaky_relu: return x >= 0 ? x : x * double{parameter};
        case zp::op::sigmoid: return 1 / (1 + std::exp(-x));
        case zp::op::tanh: return std::tanh(x);
        case zp::op::hardswish: return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
        default: return x;
    }
}

inline double convolved(const zp::node& row, const row_values& in, const float* weights, int y, int x, int c) {
    const int group_in = row.in.channels / row.window.groups, group_out = row.out.channels / row.window.groups;
    double sum = double{weights[zp::bias_offset(row) + c]};
    for_each_tap(row, y, x, [&](int iy, int ix, int ky, int kx) {
        if (iy < 0 || iy >= row.in.height || ix < 0 || ix >= row.in.width) return;
        for (int i = 0; i != group_in; ++i)
            sum += in[static_cast<std::size_t>((iy * row.in.width + ix) * row.in.channels + c / group_out * group_in +
                                               i)] *
                   double{weights[((c * row.window.kernel_height + ky) * row.window.kernel_width + kx) * group_in + i]};
    });
    return sum;
}

inline double transposed(const zp::node& row, const row_values& in, const float* weights, int y, int x, int c) {
    const auto& w = row.window;
    const int group_in = row.in.channels / w.groups, group_out = row.out.channels / w.groups;
    double sum = double{weights[zp::bias_offset(row) + c]};
    for (int iy = 0; iy != row.in.height; ++iy)
        for (int ix = 0; ix != row.in.width; ++ix)
            for (int ky = 0; ky != w.kernel_height; ++ky)
                for (int kx = 0; kx != w.kernel_width; ++kx) {
                    if (iy * w.stride_height - w.padding_top + ky * w.dilation_height != y) continue;
                    if (ix * w.stride_width - w.padding_left + kx * w.dilation_width != x) continue;
                    for (int i = 0; i != group_in; ++i)
                        sum += in[static_cast<std::size_t>((iy * row.in.width + ix) * row.in.channels +
                                                           c / group_out * group_in + i)] *
                               double{weights[((c * w.kernel_height + ky) * w.kernel_width + kx) * group_in + i]};
                }
    return sum;
}

inline double pooled(const zp::node& row, const row_values& in, int y, int x, int c) {
    const auto& w = row.window;
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    int inside = 0, padded = 0;
    for_each_tap(row, y, x, [&](int iy, int ix, int, int) {
        padded += iy < row.in.height + w.padding_top && ix < row.in.width + w.padding_left;
        if (iy < 0 || iy >= row.in.height || ix < 0 || ix >= row.in.width) return;
        const double value = in[static_cast<std::size_t>((iy * row.in.width + ix) * row.in.channels + c)];
        ++inside;
        sum += value;
        largest = std::max(largest, value);
    });
    return row.kind == zp::op::max_pool2d ? largest : sum / (row.count_include_pad ? padded : inside);
}

inline double adaptively_pooled(const zp::node& row, const row_values& in, int y, int x, int c) {
    const auto first = [](int i, int size, int cells) { return i * size / cells; };
    const auto behind = [](int i, int size, int cells) { return ((i + 1) * size + cells - 1) / cells; };
    double sum = 0;
    int count = 0;
    for (int iy = first(y, row.in.height, row.out.height); iy != behind(y, row.in.height, row.out.height); ++iy)
        for (int ix = first(x, row.in.width, row.out.width); ix != behind(x, row.in.width, row.out.width);
             ++ix, ++count)
            sum += in[static_cast<std::size_t>((iy * row.in.width + ix) * row.in.channels + c)];
    return sum / count;
}

/// The output of one row from those of the rows before it.
inline row_values row_output(const zp::node& row, const std::vector<row_values>& rows, const std::byte* parameters) {
    const auto input = [&](int k) -> const row_values& { return rows[static_cast<std::size_t>(row.inputs[k])]; };
    const auto* block = reinterpret_cast<const float*>(parameters + row.parameter_offset);
    row_values out;
    for (int y = 0; y != row.out.height; ++y) {
        for (int x = 0; x != row.out.width; ++x) {
            if (row.kind == zp::op::concat) {
                for (int k = 0; k != row.input_count; ++k) {
                    const auto channels = static_cast<std::ptrdiff_t>(input(k).size()) / row.out.pixels();
                    const auto first = input(k).begin() + (y * row.out.width + x) * channels;
                    out.insert(out.end(), first, first + channels);
                }
                continue;
            }
            for (int c = 0; c != row.out.channels; ++c) {
                const std::size_t i = out.size();
                double value = 0;
                switch (row.kind) {
                    case zp::op::conv2d:
                    case zp::op::linear: value = convolved(row, input(0), block, y, x, c); break;
                    case zp::op::conv_transpose2d: value = transposed(row, input(0), block, y, x, c); break;
                    case zp::op::batch_norm: {
                        const auto bn = zp::view_of_batch_norm(row, block);
                        const auto k = static_cast<std::size_t>(c);
                        value = (input(0)[i] - double{bn.running_mean[k]}) /
                                    std::sqrt(double{bn.running_var[k]} + double{row.parameter}) *
                                    double{bn.weight[k]} +
                                double{bn.bias[k]};
                        break;
                    }
                    case zp::op::max_pool2d:
                    case zp::op::avg_pool2d: value = pooled(row, input(0), y, x, c); break;
                    case zp::op::adaptive_avg_pool2d: value = adaptively_pooled(row, input(0), y, x, c); break;
                    case zp::op::add: value = input(0)[i] + input(1)[i]; break;
                    default: value = activate(row.kind, row.parameter, input(0)[i]);
                }
                out.push_back(activate(row.activation, row.parameter, value));
            }
        }
    }
    return out;
}

/// The outputs of all rows of a float network (as written, or fused). Custom rows are not computed.
template <class Network> std::vector<row_values> run(const Network& model, std::span<const float> input) {
    std::vector<row_values> rows{row_values(input.begin(), input.end())};
    for (std::size_t i = 1; i != model.rows().size(); ++i)
        rows.push_back(row_output(model.rows()[i], rows, model.parameters()));
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
