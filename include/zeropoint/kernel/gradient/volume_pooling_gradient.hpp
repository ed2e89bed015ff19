// SPDX-License-Identifier: BSD-3-Clause
// Gradients of max, average and adaptive average pooling of one NDHWC volume.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/gradient/pooling_gradient.hpp>
#include <zeropoint/kernel/reduction/volume_pooling.hpp>

namespace zp::inline v0::kernel {

/// dx = the gradient of max_pool3d() by x, as max_pool2d_gradient()'s: the first of several largest values, plane by plane, has all.
template <class Arch>
void max_pool3d_gradient(const conv3d_geometry& g, const float* x, const float* dy, float* dx) noexcept {
    std::fill_n(dx, g.in_size(), 0.0f);
    const auto planes_of = [&](int p) { return planes_of_window(g, p); };
    const auto rows_of = [&](int r) { return rows_under(g.plane, r, g.plane.dilation_height); };
    const auto columns_of = [&](int c) { return columns_under(g.plane, c, g.plane.dilation_width); };
    const auto channels = static_cast<std::size_t>(g.plane.in.channels);
    for_each_volume<const float>(g.plane.in, g.plane.out, g.out_depth, x, dy, planes_of, rows_of, columns_of,
                                 [=](const pool_volume<const float>& window, const float* from) {
                                     for_each_vector<Arch>(
                                         channels, [&](std::size_t c, auto kind) __attribute__((always_inline)) {
                                             pass_to_largest<decltype(kind)>(window, c, from, x, dx);
                                         });
                                 });
}
/// dx = the gradient of avg_pool3d() by its input.
template <class Arch>
void avg_pool3d_gradient(const conv3d_geometry& g, bool count_include_pad, const float* dy, float* dx) noexcept {
    std::fill_n(dx, g.in_size(), 0.0f);
    const auto planes_of = [&](int p) { return planes_of_window(g, p); };
    const auto rows_of = [&](int r) { return rows_under(g.plane, r, 1); };
    const auto columns_of = [&](int c) { return columns_under(g.plane, c, 1); };
    const auto channels = static_cast<std::size_t>(g.plane.in.channels);
    for_each_volume<const float>(g.plane.in, g.plane.out, g.out_depth, dx, dy, planes_of, rows_of, columns_of,
                                 [=](const pool_volume<const float>& window, const float* from) {
                                     const int n = count_include_pad ? window.planes.padded * window.plane.rows.padded *
                                                                           window.plane.columns.padded
                                                                     : window.size();
                                     pass_to_all<Arch>(window, channels, std::max(n, 1), from, dx);
                                 });
}
/// dx = the gradient of adaptive_avg_pool3d() by its input.
template <class Arch>
void adaptive_avg_pool3d_gradient(const shape& in, const shape& out, const float* dy, float* dx) noexcept {
    std::fill_n(dx, in.size(), 0.0f);
    const auto planes_of = [&](int p) { return span_of_cell(p, in.depth, out.depth); };
    const auto rows_of = [&](int r) { return span_of_cell(r, in.height, out.height); };
    const auto columns_of = [&](int c) { return span_of_cell(c, in.width, out.width); };
    const auto channels = static_cast<std::size_t>(in.channels);
    for_each_volume<const float>(in, out, out.depth, dx, dy, planes_of, rows_of, columns_of,
                                 [=](const pool_volume<const float>& window, const float* from) {
                                     pass_to_all<Arch>(window, channels, window.size(), from, dx);
                                 });
}

}  // namespace zp::inline v0::kernel
