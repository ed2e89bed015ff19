// SPDX-License-Identifier: BSD-3-Clause
// What each weight of a filter is multiplied with, summed over all outputs: from it follows what an error of the weight adds
// to the mean output.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/geometry/conv3d.hpp>
#include <zeropoint/kernel/geometry/conv_transpose3d.hpp>

namespace zp::inline v0::kernel {

/// sums[tap][channel] += the values of x that a tap meets: for each position of `moving` the one at position * stride - padding
/// + tap * dilation of `fixed`, where that exists. x is what is fixed, or what moves.
template <bool Transposed, class Geometry>
void add_values_of_taps(const Geometry& g, int moving_depth, const shape& moving, int fixed_depth, const shape& fixed,
                        const float* x, double* sums) noexcept {
    const auto& p = g.plane;
    const std::ptrdiff_t channels = p.in.channels;
    for (int tap = 0; tap != g.taps(); ++tap, sums += channels) {
        const int kz = tap / p.taps(), ky = tap % p.taps() / p.kernel_width, kx = tap % p.kernel_width;
        for (int plane = 0; plane != moving_depth; ++plane) {
            const int z = plane * g.stride_depth - g.padding_front + kz * g.dilation_depth;
            if (z < 0 || z >= fixed_depth) continue;
            for (int row = 0; row != moving.height; ++row) {
                const int y = row * p.stride_height - p.padding_top + ky * p.dilation_height;
                if (y < 0 || y >= fixed.height) continue;
                for (int column = 0; column != moving.width; ++column) {
                    const int at = column * p.stride_width - p.padding_left + kx * p.dilation_width;
                    if (at < 0 || at >= fixed.width) continue;
                    const std::ptrdiff_t pixel =
                        Transposed ? (std::ptrdiff_t{plane} * moving.height + row) * moving.width + column
                                   : (std::ptrdiff_t{z} * fixed.height + y) * fixed.width + at;
                    for (std::ptrdiff_t c = 0; c != channels; ++c) sums[c] += double{x[pixel * channels + c]};
                }
            }
        }
    }
}

/// sums[tap][channel] += the values of x that this tap of the window meets, over all outputs; what lies outside of x is zero.
/// x is [plane][row][column][channel], sums are [taps][in channels] in double. Each sum adds its values in the order of the
/// outputs, so that it has the same bits everywhere.
inline void add_tap_sums(const conv3d_geometry& g, const float* x, double* sums) noexcept {
    add_values_of_taps<false>(g, g.out_depth, g.plane.out, g.in_depth, g.plane.in, x, sums);
}

/// The same of a transposed convolution, in the order of the inputs.
inline void add_tap_sums(const conv_transpose3d_geometry& g, const float* x, double* sums) noexcept {
    add_values_of_taps<true>(g, g.in_depth, g.plane.in, g.out_depth, g.plane.out, x, sums);
}
inline void add_tap_sums(const conv_transpose2d_geometry& g, const float* x, double* sums) noexcept {
    add_tap_sums(conv_transpose3d_geometry{g}, x, sums);
}

}  // namespace zp::inline v0::kernel
