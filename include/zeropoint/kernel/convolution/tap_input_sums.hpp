// What each weight of a filter is multiplied with, summed over all outputs: from it follows what an error of the weight adds
// to the mean output.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/geometry/conv3d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose3d.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// sums[tap][channel] += the values of x that this tap of the window meets, over all outputs; what lies outside of x is zero.
/// x is [plane][row][column][channel], sums are [taps][in channels] in double. Each sum adds its values in the order of the
/// outputs, so that it has the same bits everywhere.
inline void add_tap_sums(const conv3d_geometry& g, const float* x, double* sums) noexcept {
    const conv2d_geometry& p = g.plane;
    const std::ptrdiff_t channels = p.in.channels;
    for (int tap = 0; tap != g.taps(); ++tap, sums += channels) {
        const int kz = tap / p.taps(), ky = tap % p.taps() / p.kernel_width, kx = tap % p.kernel_width;
        for (int plane = 0; plane != g.out_depth; ++plane) {
            const int iz = g.in_plane(plane, kz);
            if (iz < 0 || iz >= g.in_depth) continue;
            for (int row = 0; row != p.out.height; ++row) {
                const int iy = row * p.stride_height - p.padding_top + ky * p.dilation_height;
                if (iy < 0 || iy >= p.in.height) continue;
                for (int column = 0; column != p.out.width; ++column) {
                    const int ix = column * p.stride_width - p.padding_left + kx * p.dilation_width;
                    if (ix < 0 || ix >= p.in.width) continue;
                    const float* pixel = x + ((std::ptrdiff_t{iz} * p.in.height + iy) * p.in.width + ix) * channels;
                    for (std::ptrdiff_t c = 0; c != channels; ++c) sums[c] += double{pixel[c]};
                }
            }
        }
    }
}

/// The same of a transposed convolution.
inline void add_tap_sums(const conv_transpose2d_geometry& g, const float* x, double* sums) noexcept {
    const std::ptrdiff_t channels = g.in.channels;
    for (int tap = 0; tap != g.taps(); ++tap, sums += channels) {
        const int ky = tap / g.kernel_width, kx = tap % g.kernel_width;
        for (int row = 0; row != g.in.height; ++row) {
            const int to_row = row * g.stride_height - g.padding_top + ky * g.dilation_height;
            if (to_row < 0 || to_row >= g.out.height) continue;
            for (int column = 0; column != g.in.width; ++column) {
                const int to_column = column * g.stride_width - g.padding_left + kx * g.dilation_width;
                if (to_column < 0 || to_column >= g.out.width) continue;
                const float* pixel = x + (std::ptrdiff_t{row} * g.in.width + column) * channels;
                for (std::ptrdiff_t c = 0; c != channels; ++c) sums[c] += double{pixel[c]};
            }
        }
    }
}

/// The same over a volume: plane by plane.
inline void add_tap_sums(const conv_transpose3d_geometry& g, const float* x, double* sums) noexcept {
    const std::ptrdiff_t channels = g.plane.in.channels;
    for (int tap = 0; tap != g.kernel_depth; ++tap, sums += channels * g.plane.taps())
        for (int plane = 0; plane != g.in_depth; ++plane) {
            const int to_plane = plane * g.stride_depth - g.padding_front + tap * g.dilation_depth;
            if (to_plane >= 0 && to_plane < g.out_depth)
                add_tap_sums(g.plane, x + std::ptrdiff_t{plane} * g.plane.in.size(), sums);
        }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
