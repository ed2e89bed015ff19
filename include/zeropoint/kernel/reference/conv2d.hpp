// The oracle of the integer kernels: the definition written as loops, sharing nothing with the code it judges.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {
namespace reference {

/// The accumulator of one output: bias[o] + sum (x - x_zero_point) * (w - w_zero_point[o]) over the window, exact in
/// 64 bits. x is NHWC, weights are OHWI with in.channels / groups innermost. Positions outside the input contribute
/// nothing. `zero_points` and `bias` may be null, meaning 0.
template <class In, class Weight>
std::int64_t accumulate(const conv2d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
                        const std::int32_t* zero_points, const std::int32_t* bias, int row, int column, int channel) {
    const int channels = g.in.channels / g.groups;
    const int first = channel / (g.out.channels / g.groups) * channels;
    std::int64_t sum = bias == nullptr ? 0 : bias[channel];
    for (int ky = 0; ky != g.kernel_height; ++ky) {
        for (int kx = 0; kx != g.kernel_width; ++kx) {
            const int iy = row * g.stride_height - g.padding_top + ky * g.dilation_height;
            const int ix = column * g.stride_width - g.padding_left + kx * g.dilation_width;
            if (iy < 0 || iy >= g.in.height || ix < 0 || ix >= g.in.width) continue;
            for (int i = 0; i != channels; ++i) {
                const std::ptrdiff_t at = (std::ptrdiff_t{iy} * g.in.width + ix) * g.in.channels + first + i;
                const std::ptrdiff_t from =
                    ((std::ptrdiff_t{channel} * g.kernel_height + ky) * g.kernel_width + kx) * channels + i;
                const std::int64_t w =
                    std::int64_t{weights[from]} - (zero_points == nullptr ? 0 : zero_points[channel]);
                sum += (std::int64_t{x[at]} - x_zero_point) * w;
            }
        }
    }
    return sum;
}

/// y[row][column][channel] = finish(accumulator, channel): every output of a convolution, one at a time. `finish`
/// takes the accumulator as std::int32_t, whose range the caller vouches for, and gives an Out.
template <class In, class Weight, class Out, class Finish>
void conv2d(const conv2d_geometry& g, const In* x, std::int32_t x_zero_point, const Weight* weights,
            const std::int32_t* zero_points, const std::int32_t* bias, Finish finish, Out* y) {
    for (int row = 0; row != g.out.height; ++row) {
        for (int column = 0; column != g.out.width; ++column) {
            for (int channel = 0; channel != g.out.channels; ++channel) {
                const std::int64_t sum =
                    accumulate(g, x, x_zero_point, weights, zero_points, bias, row, column, channel);
                *y++ = static_cast<Out>(finish(static_cast<std::int32_t>(sum), channel));
            }
        }
    }
}

}  // namespace reference
}  // namespace kernel
}  // namespace v0
}  // namespace zp
