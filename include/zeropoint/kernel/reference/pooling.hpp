// SPDX-License-Identifier: BSD-3-Clause
// The oracle of pooling: the integer definitions as loops, sharing nothing with the kernels. An image is a volume of one plane.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/geometry/conv3d.hpp>

namespace zp::inline v0::kernel::reference {

/// Calls visit(plane, row, column, inside) for every position of the window of output (plane, row, column), and
/// finish(channel) behind those of each channel; `begin()` in front.
template <class Begin, class Visit, class Finish>
void for_each_pooled(const conv3d_geometry& g, Begin begin, Visit visit, Finish finish) {
    const conv2d_geometry& p = g.plane;
    for (int plane = 0; plane != g.out_depth; ++plane)
        for (int row = 0; row != p.out.height; ++row)
            for (int column = 0; column != p.out.width; ++column)
                for (int c = 0; c != p.out.channels; ++c) {
                    begin();
                    for (int tap = 0; tap != g.taps(); ++tap) {
                        const int kz = tap / p.taps(), ky = tap % p.taps() / p.kernel_width, kx = tap % p.kernel_width;
                        const int iz = g.in_plane(plane, kz);
                        const int iy = row * p.stride_height - p.padding_top + ky * p.dilation_height;
                        const int ix = column * p.stride_width - p.padding_left + kx * p.dilation_width;
                        const bool inside =
                            iz >= 0 && iz < g.in_depth && iy >= 0 && iy < p.in.height && ix >= 0 && ix < p.in.width;
                        visit(iz, iy, ix, c, inside);
                    }
                    finish();
                }
}

/// y = the largest value of each window; -infinity, or the lowest code, where it lies outside the input.
template <class T> void max_pool3d(const conv3d_geometry& g, const T* x, T* y) {
    const shape& in = g.plane.in;
    T best{};
    for_each_pooled(
        g,
        [&] {
            if constexpr (std::is_same_v<T, float>) best = -infinity;
            else best = std::numeric_limits<T>::lowest();
        },
        [&](int plane, int row, int column, int c, bool inside) {
            if (inside)
                best = std::max(best,
                                x[((std::ptrdiff_t{plane} * in.height + row) * in.width + column) * in.channels + c]);
        },
        [&] { *y++ = best; });
}

/// y = rne(sum over the window of (x - zero_point) / n) + zero_point, exact in integers. n counts the positions of the
/// window that lie in the input, or with `count_include_pad` those in the input extended by the padding on every side
/// (PyTorch's rule: a window that ceil_mode lets hang over that is clipped to it). The padding is real zero.
template <class T>
void avg_pool3d(const conv3d_geometry& g, bool count_include_pad, std::int32_t zero_point, const T* x, T* y) {
    const conv2d_geometry& p = g.plane;
    const shape& in = p.in;
    std::int64_t sum = 0, n = 0;
    for_each_pooled(
        g, [&] { sum = n = 0; },
        [&](int plane, int row, int column, int c, bool inside) {
            if (inside)
                sum +=
                    x[((std::ptrdiff_t{plane} * in.height + row) * in.width + column) * in.channels + c] - zero_point;
            const bool padded = plane < g.in_depth + g.padding_front && row < in.height + p.padding_top &&
                                column < in.width + p.padding_left;
            if (inside || (count_include_pad && padded)) ++n;
        },
        [&] { *y++ = static_cast<T>((n == 0 ? 0 : divide_half_even(sum, n)) + zero_point); });
}

/// y = rne(sum over the cell of (x - zero_point) / n) + zero_point, where output row r averages the input rows from
/// floor(r * in.height / out.height) up to ceil((r + 1) * in.height / out.height), planes and columns likewise (PyTorch's
/// rule).
template <class T>
void adaptive_avg_pool3d(const shape& in, const shape& out, std::int32_t zero_point, const T* x, T* y) {
    const auto end = [](int i, int extent, int cells) { return ((i + 1) * extent + cells - 1) / cells; };
    for (int plane = 0; plane != out.depth; ++plane)
        for (int row = 0; row != out.height; ++row)
            for (int column = 0; column != out.width; ++column)
                for (int c = 0; c != out.channels; ++c) {
                    std::int64_t sum = 0, n = 0;
                    for (int iz = plane * in.depth / out.depth; iz != end(plane, in.depth, out.depth); ++iz)
                        for (int iy = row * in.height / out.height; iy != end(row, in.height, out.height); ++iy)
                            for (int ix = column * in.width / out.width; ix != end(column, in.width, out.width); ++ix) {
                                sum += x[((std::ptrdiff_t{iz} * in.height + iy) * in.width + ix) * in.channels + c] -
                                       zero_point;
                                ++n;
                            }
                    *y++ = static_cast<T>(divide_half_even(sum, n) + zero_point);
                }
}

/// The same over NHWC images, of which x and y have equal channels.
template <class T> void max_pool2d(const conv2d_geometry& g, const T* x, T* y) { max_pool3d(conv3d_geometry{g}, x, y); }
template <class T>
void avg_pool2d(const conv2d_geometry& g, bool count_include_pad, std::int32_t zero_point, const T* x, T* y) {
    avg_pool3d(conv3d_geometry{g}, count_include_pad, zero_point, x, y);
}
template <class T>
void adaptive_avg_pool2d(const shape& in, const shape& out, std::int32_t zero_point, const T* x, T* y) {
    adaptive_avg_pool3d(in, out, zero_point, x, y);
}

}  // namespace zp::inline v0::kernel::reference
