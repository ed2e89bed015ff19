// SPDX-License-Identifier: BSD-3-Clause
// The oracle of convolutions: the definition written as loops, sharing nothing with the code it judges.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/geometry/conv3d.hpp>

namespace zp::inline v0::kernel::reference {

/// The accumulator of one output: bias[o] + sum (x - x_zero_point) * (w - w_zero_point[o]) over the window, exact in
/// 64 bits. x is [plane][row][column][channel], weights are [out_channels][kernel_depth][kernel_height][kernel_width]
/// [in_channels / groups]. Positions outside the input contribute nothing. `zero_points` and `bias` may be null, meaning 0.
template <class In, class Weight>
std::int64_t accumulate(const conv3d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
                        const std::int32_t* zero_points, const std::int32_t* bias, int plane, int row, int column,
                        int channel) {
    const conv2d_geometry& p = g.plane;
    const int channels = p.in.channels / p.groups;
    const int first = channel / (p.out.channels / p.groups) * channels;
    std::int64_t sum = bias == nullptr ? 0 : bias[channel];
    const std::int64_t zero_point = zero_points == nullptr ? 0 : zero_points[channel];
    const Weight* w = weights + std::ptrdiff_t{channel} * g.taps() * channels;
    for (int tap = 0; tap != g.taps(); ++tap, w += channels) {
        const int kz = tap / p.taps(), ky = tap % p.taps() / p.kernel_width, kx = tap % p.kernel_width;
        const int iz = plane * g.stride_depth - g.padding_front + kz * g.dilation_depth;
        const int iy = row * p.stride_height - p.padding_top + ky * p.dilation_height;
        const int ix = column * p.stride_width - p.padding_left + kx * p.dilation_width;
        const bool inside = iz >= 0 && iz < g.in_depth && iy >= 0 && iy < p.in.height && ix >= 0 && ix < p.in.width;
        if (!inside) continue;
        const In* pixel = x + ((std::ptrdiff_t{iz} * p.in.height + iy) * p.in.width + ix) * p.in.channels + first;
        for (int i = 0; i != channels; ++i) sum += (std::int64_t{pixel[i]} - x_zero_point) * (w[i] - zero_point);
    }
    return sum;
}

/// y[plane][row][column][channel] = finish(accumulator, channel): every output of a convolution, one at a time. `finish`
/// takes the accumulator as std::int32_t, whose range the caller vouches for, and gives an Out.
template <class In, class Weight, class Out, class Finish>
void conv3d(const conv3d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
            const std::int32_t* zero_points, const std::int32_t* bias, Finish finish, Out* y) {
    for (int plane = 0; plane != g.out_depth; ++plane)
        for (int row = 0; row != g.plane.out.height; ++row)
            for (int column = 0; column != g.plane.out.width; ++column)
                for (int channel = 0; channel != g.plane.out.channels; ++channel) {
                    const std::int64_t sum =
                        accumulate(g, x, x_zero_point, weights, zero_points, bias, plane, row, column, channel);
                    *y++ = static_cast<Out>(finish(static_cast<std::int32_t>(sum), channel));
                }
}

}  // namespace zp::inline v0::kernel::reference
