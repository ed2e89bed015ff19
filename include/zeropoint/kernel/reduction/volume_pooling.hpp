// SPDX-License-Identifier: BSD-3-Clause
// Max and average pooling of NDHWC volumes, codes or floats, with the means of pooling images.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/geometry/conv3d.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>

namespace zp::inline v0::kernel {

/// A window of several planes in memory, as pool_window is of one: `plane` is its part in the first.
template <class T> struct pool_volume {
    using value_type = T;
    pool_window<T> plane;
    window_span planes;
    std::ptrdiff_t plane_distance;

    constexpr int size() const { return planes.count * plane.size(); }
    template <class Body> [[gnu::always_inline]] void for_each_position(Body&& body) const noexcept {
        pool_window<T> window = plane;
        for (int p = 0; p != planes.count; ++p, window.first += plane_distance) window.for_each_position(body);
    }
};

/// Calls pool(pool_volume, pointer to the output pixel) for all outputs of `out_depth` planes; the functions give the
/// spans of an index.
template <class T, class PlanesOf, class RowsOf, class ColumnsOf, class Pool>
[[gnu::always_inline]] inline void for_each_volume(const shape& in, const shape& out, int out_depth, const T* x, T* y,
                                                   PlanesOf&& planes_of, RowsOf&& rows_of, ColumnsOf&& columns_of,
                                                   Pool&& pool) noexcept {
    const std::ptrdiff_t plane = std::ptrdiff_t{in.height} * in.width * in.channels;
    for (int p = 0; p != out_depth; ++p, y += std::ptrdiff_t{out.height} * out.width * out.channels) {
        const window_span planes = planes_of(p);
        for_each_window<T>(in, out, x + planes.first * plane, y, rows_of, columns_of,
                           [&](const pool_window<T>& window, T* to) noexcept {
                               pool(pool_volume<T>{window, planes, planes.step * plane}, to);
                           });
    }
}

/// The planes of input under output plane `index`.
constexpr window_span planes_of_window(const conv3d_geometry& g, int index) {
    return span_of_window(index, g.kernel_depth, g.stride_depth, g.padding_front, g.dilation_depth, g.in_depth);
}

/// y[i] = the largest of the `count` values x[i + k * distance], lowest_value<T> for none.
template <class Arch, class T>
void largest_of_planes(const T* x, int count, std::ptrdiff_t distance, std::size_t size, T* y) noexcept {
    with_fitting_vectors<Arch, T>(size, [=]<class Fitting>() noexcept {
        largest_values<Fitting>(
            size, y, [=](const auto& visit) __attribute__((always_inline)) {
                for (int k = 0; k != count; ++k) visit(x + k * distance);
            });
    });
}

/// How many values of scratch max_pool3d() needs: the largest of the planes under a window.
constexpr int max_pool3d_scratch(const conv3d_geometry& g) { return g.kernel_depth == 1 ? 0 : g.plane.in.size(); }

/// y = the largest value of each window over the input x, with kernel, strides, paddings and dilations of the geometry, as
/// max_pool2d has them. `scratch` has max_pool3d_scratch(g) values.
template <class Arch, class T> void max_pool3d(const conv3d_geometry& g, const T* x, T* y, T* scratch) noexcept {
    const std::ptrdiff_t size = g.plane.in.size();
    for (int plane = 0; plane != g.out_depth; ++plane, y += g.plane.out.size()) {
        const window_span planes = planes_of_window(g, plane);
        const T* from = x + planes.first * size;
        if (planes.count != 1) {
            largest_of_planes<Arch>(from, planes.count, planes.step * size, static_cast<std::size_t>(size), scratch);
            from = scratch;
        }
        max_pool2d<Arch>(g.plane, from, y);
    }
}

/// Average of each window, as avg_pool2d defines it; dilation is 1.
template <class Arch, class T>
void avg_pool3d(const conv3d_geometry& g, bool count_include_pad, std::int32_t zero_point, const T* x, T* y) noexcept {
    const conv2d_geometry& p = g.plane;
    const auto planes_of = [&](int i) { return planes_of_window(g, i); };
    const auto rows_of = [&](int r) { return rows_under(p, r, 1); };
    const auto columns_of = [&](int c) { return columns_under(p, c, 1); };
    const auto channels = static_cast<std::size_t>(p.in.channels);
    with_fitting_vectors<Arch, T>(channels, [&]<class Fitting>() noexcept {
        for_each_volume(p.in, p.out, g.out_depth, x, y, planes_of, rows_of, columns_of,
                        [=](const pool_volume<T>& window, T* to) noexcept {
                            const int n = count_include_pad ? window.planes.padded * window.plane.rows.padded *
                                                                  window.plane.columns.padded
                                                            : window.size();
                            average_window<Fitting>(window, std::max(n, 1), zero_point, channels, to);
                        });
    });
}

/// Average over a grid of out.depth x out.height x out.width cells that cover the input, as adaptive_avg_pool2d's.
template <class Arch, class T>
void adaptive_avg_pool3d(const shape& in, const shape& out, std::int32_t zero_point, const T* x, T* y) noexcept {
    const auto planes_of = [&](int p) { return span_of_cell(p, in.depth, out.depth); };
    const auto rows_of = [&](int r) { return span_of_cell(r, in.height, out.height); };
    const auto columns_of = [&](int c) { return span_of_cell(c, in.width, out.width); };
    const auto channels = static_cast<std::size_t>(in.channels);
    with_fitting_vectors<Arch, T>(channels, [&]<class Fitting>() noexcept {
        for_each_volume(in, out, out.depth, x, y, planes_of, rows_of, columns_of,
                        [=](const pool_volume<T>& window, T* to) noexcept {
                            average_window<Fitting>(window, window.size(), zero_point, channels, to);
                        });
    });
}

}  // namespace zp::inline v0::kernel
