// The specification of 3-D convolutions: plain loops that every kernel is tested against for equality.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/geometry/conv3d.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {
namespace reference {

/// y[plane][row][column][channel] = finish(bias[channel] + sum (x - x_zero_point) * (w - w_zero_point[channel]), channel)
/// over the window, exact in 64 bits; positions outside the input contribute nothing. x is [plane][row][column][channel],
/// weights are [out_channels][kernel_depth][kernel_height][kernel_width][in_channels / groups]. `zero_points` and `bias`
/// may be null, meaning 0. `finish` takes the sum as std::int32_t, whose range the caller vouches for.
template <class In, class Weight, class Out, class Finish>
void conv3d(const conv3d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
            const std::int32_t* zero_points, const std::int32_t* bias, Finish finish, Out* y) {
    const conv2d_geometry& p = g.plane;
    const auto sum_of = [&](int plane, int row, int column, int o) {
        std::int64_t sum = bias == nullptr ? 0 : bias[o];
        const std::int64_t zero_point = zero_points == nullptr ? 0 : zero_points[o];
        const Weight* w = weights + std::ptrdiff_t{o} * g.depth();
        for (int tap = 0; tap != g.taps(); ++tap, w += p.group_in()) {
            const int kz = tap / p.taps(), ky = tap % p.taps() / p.kernel_width, kx = tap % p.kernel_width;
            const int iz = g.in_plane(plane, kz), iy = row * p.stride_height - p.padding_top + ky * p.dilation_height,
                      ix = column * p.stride_width - p.padding_left + kx * p.dilation_width;
            const bool inside = iz >= 0 && iz < g.in_depth && iy >= 0 && iy < p.in.height && ix >= 0 && ix < p.in.width;
            if (!inside) continue;
            const In* pixel = x + ((std::ptrdiff_t{iz} * p.in.height + iy) * p.in.width + ix) * p.in.channels +
                              o / p.group_out() * p.group_in();
            for (int i = 0; i != p.group_in(); ++i)
                sum += (std::int64_t{pixel[i]} - x_zero_point) * (w[i] - zero_point);
        }
        return sum;
    };
    for (int plane = 0; plane != g.out_depth; ++plane)
        for (int row = 0; row != p.out.height; ++row)
            for (int column = 0; column != p.out.width; ++column)
                for (int o = 0; o != p.out.channels; ++o)
                    *y++ = static_cast<Out>(finish(static_cast<std::int32_t>(sum_of(plane, row, column, o)), o));
}

}  // namespace reference
}  // namespace kernel
}  // namespace v0
}  // namespace zp
