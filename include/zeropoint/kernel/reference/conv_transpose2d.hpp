// The specification of transposed convolutions: plain loops that every kernel is tested against for equality.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/kernel/geometry/conv_transpose2d.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {
namespace reference {

/// y[row][column][channel] = finish(bias[channel] + sum (x - x_zero_point) * (w - w_zero_point[channel]), channel), where
/// input pixel (i, j) times tap (ky, kx) adds to the output at (i * stride - padding + ky * dilation, ...). x is NHWC,
/// weights are [out_channels][kernel_height][kernel_width][in_channels / groups]. `zero_points` and `bias` may be null,
/// meaning 0. `finish` takes the sum as std::int32_t, whose range the caller vouches for.
template <class In, class Weight, class Out, class Finish>
void conv_transpose2d(const conv_transpose2d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
                      const std::int32_t* zero_points, const std::int32_t* bias, Finish finish, Out* y) {
    const auto outputs = static_cast<std::size_t>(g.out.channels);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(g.out.size()));
    for (std::size_t i = 0; i != sums.size(); ++i) sums[i] = bias == nullptr ? 0 : bias[i % outputs];
    const auto add_tap = [&](int row, int column, int ky, int kx) {
        const int to_row = row * g.stride_height - g.padding_top + ky * g.dilation_height;
        const int to_column = column * g.stride_width - g.padding_left + kx * g.dilation_width;
        if (to_row < 0 || to_row >= g.out.height || to_column < 0 || to_column >= g.out.width) return;
        const In* pixel = x + (std::ptrdiff_t{row} * g.in.width + column) * g.in.channels;
        std::int64_t* to = sums.data() + (std::ptrdiff_t{to_row} * g.out.width + to_column) * g.out.channels;
        for (int o = 0; o != g.out.channels; ++o) {
            const Weight* filter =
                weights + ((std::ptrdiff_t{o} * g.kernel_height + ky) * g.kernel_width + kx) * g.group_in();
            const std::int64_t zero_point = zero_points == nullptr ? 0 : zero_points[o];
            for (int i = 0; i != g.group_in(); ++i) {
                const std::int64_t value = pixel[o / g.group_out() * g.group_in() + i];
                to[o] += (value - x_zero_point) * (filter[i] - zero_point);
            }
        }
    };
    for (int row = 0; row != g.in.height; ++row)
        for (int column = 0; column != g.in.width; ++column)
            for (int ky = 0; ky != g.kernel_height; ++ky)
                for (int kx = 0; kx != g.kernel_width; ++kx) add_tap(row, column, ky, kx);
    for (std::size_t i = 0; i != sums.size(); ++i)
        y[i] = static_cast<Out>(finish(static_cast<std::int32_t>(sums[i]), static_cast<int>(i % outputs)));
}

}  // namespace reference
}  // namespace kernel
}  // namespace v0
}  // namespace zp
