// SPDX-License-Identifier: BSD-3-Clause
// The oracle of transposed convolutions: the definition written as loops, sharing nothing with the code it judges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/kernel/geometry/conv_transpose3d.hpp>

namespace zp::inline v0::kernel::reference {

/// y[plane][row][column][channel] = finish(bias[channel] + sum (x - x_zero_point) * (w - w_zero_point[channel]), channel), where
/// the input at (l, i, j) times tap (kz, ky, kx) adds to the output at (l * stride - padding + kz * dilation, ...). x is
/// [plane][row][column][channel], weights are [out_channels][kernel_depth][kernel_height][kernel_width][in_channels / groups].
/// `zero_points` and `bias` may be null, meaning 0. `finish` takes the sum as std::int32_t, whose range the caller vouches for.
template <class In, class Weight, class Out, class Finish>
void conv_transpose3d(const conv_transpose3d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
                      const std::int32_t* zero_points, const std::int32_t* bias, Finish finish, Out* y) {
    const conv_transpose2d_geometry& p = g.plane;
    const auto outputs = static_cast<std::size_t>(p.out.channels);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(g.out_size()));
    for (std::size_t i = 0; i != sums.size(); ++i) sums[i] = bias == nullptr ? 0 : bias[i % outputs];
    const auto add_tap = [&](int pixel, int tap) {  // all pixels of all planes, all taps of all planes
        const int l = pixel / p.in.pixels(), i = pixel % p.in.pixels() / p.in.width, j = pixel % p.in.width;
        const int kz = tap / p.taps(), ky = tap % p.taps() / p.kernel_width, kx = tap % p.kernel_width;
        const int plane = l * g.stride_depth - g.padding_front + kz * g.dilation_depth;
        const int row = i * p.stride_height - p.padding_top + ky * p.dilation_height;
        const int column = j * p.stride_width - p.padding_left + kx * p.dilation_width;
        if (plane < 0 || plane >= g.out_depth || row < 0 || row >= p.out.height || column < 0 || column >= p.out.width)
            return;
        std::int64_t* to =
            sums.data() + ((std::ptrdiff_t{plane} * p.out.height + row) * p.out.width + column) * p.out.channels;
        for (int o = 0; o != p.out.channels; ++o) {
            const Weight* filter = weights + (std::ptrdiff_t{o} * g.taps() + tap) * p.group_in();
            const std::int64_t zero_point = zero_points == nullptr ? 0 : zero_points[o];
            for (int c = 0; c != p.group_in(); ++c) {
                const std::int64_t value =
                    x[std::ptrdiff_t{pixel} * p.in.channels + o / p.group_out() * p.group_in() + c];
                to[o] += (value - x_zero_point) * (filter[c] - zero_point);
            }
        }
    };
    for (int pixel = 0; pixel != g.in_depth * p.in.pixels(); ++pixel)
        for (int tap = 0; tap != g.taps(); ++tap) add_tap(pixel, tap);
    for (std::size_t i = 0; i != sums.size(); ++i)
        y[i] = static_cast<Out>(finish(static_cast<std::int32_t>(sums[i]), static_cast<int>(i % outputs)));
}

}  // namespace zp::inline v0::kernel::reference
