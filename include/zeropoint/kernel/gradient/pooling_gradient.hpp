// SPDX-License-Identifier: BSD-3-Clause
// Gradients of max, average and adaptive average pooling of one NHWC image.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/geometry/window_span.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>

namespace zp::inline v0::kernel {

using gradient_window = pool_window<const float>;

/// A Number of channels of one window, from `channel` on: dx of the first position that holds the largest value += dy.
template <class Number, class Window>
[[gnu::always_inline]] inline void pass_to_largest(const Window& window, std::size_t channel, const float* dy,
                                                   const float* x, float* dx) noexcept {
    Number best(lowest_value<float>);
    window.for_each_position([&](const float* from) __attribute__((always_inline)) {
        best = larger(load_number<Number>(from + channel), best);
    });
    Number left = load_number<Number>(dy + channel);  // until it is given away
    const Number zero(0.0f);
    window.for_each_position([&](const float* from) __attribute__((always_inline)) {
        float* const to = dx + (from - x) + channel;
        const auto here = load_number<Number>(from + channel) == best;
        store_number(Number(load_number<Number>(to) + choose_number(here, left, zero)), to);
        left = choose_number(here, zero, left);
    });
}

/// dx = the gradient of max_pool2d() by x: each dy goes to the largest value of its window, the first one in the order of
/// rows and columns where several are, as in PyTorch. Windows add to one another in the order of outputs. x and dx have
/// the extents of g.in, dy of g.out. Of windows with a NaN nothing is promised.
template <class Arch>
void max_pool2d_gradient(const conv2d_geometry& g, const float* x, const float* dy, float* dx) noexcept {
    std::fill_n(dx, g.in.size(), 0.0f);
    const auto channels = static_cast<std::size_t>(g.in.channels);
    const auto rows_of = [&](int r) { return rows_under(g, r, g.dilation_height); };
    const auto columns_of = [&](int c) { return columns_under(g, c, g.dilation_width); };
    for_each_window<const float>(g.in, g.out, x, dy, rows_of, columns_of,
                                 [=](const gradient_window& window, const float* from) {
                                     for_each_vector<Arch>(
                                         channels, [&](std::size_t c, auto kind) __attribute__((always_inline)) {
                                             pass_to_largest<decltype(kind)>(window, c, from, x, dx);
                                         });
                                 });
}

/// dx of one window += dy / divisor; the window is one of dx.
template <class Arch, class Window>
[[gnu::always_inline]] inline void pass_to_all(const Window& window, std::size_t channels, int divisor, const float* dy,
                                               float* dx) noexcept {
    for_each_vector<Arch>(
        channels, [&](std::size_t c, auto kind) __attribute__((always_inline)) {
            using Number = decltype(kind);
            const Number share = load_number<Number>(dy + c) * Number(1.0f / static_cast<float>(divisor));
            window.for_each_position([&](const float* from) __attribute__((always_inline)) {
                float* const to = dx + (from - dx) + c;
                store_number(Number(load_number<Number>(to) + share), to);
            });
        });
}

/// dx = the gradient of avg_pool2d() by its input: every position of a window gets dy / n, n as there. Extents as in
/// max_pool2d_gradient().
template <class Arch>
void avg_pool2d_gradient(const conv2d_geometry& g, bool count_include_pad, const float* dy, float* dx) noexcept {
    std::fill_n(dx, g.in.size(), 0.0f);
    const auto channels = static_cast<std::size_t>(g.in.channels);
    const auto rows_of = [&](int r) { return rows_under(g, r, 1); };
    const auto columns_of = [&](int c) { return columns_under(g, c, 1); };
    for_each_window<const float>(
        g.in, g.out, dx, dy, rows_of, columns_of, [=](const gradient_window& window, const float* from) {
            const int n = count_include_pad ? window.rows.padded * window.columns.padded : window.size();
            pass_to_all<Arch>(window, channels, std::max(n, 1), from, dx);
        });
}

/// dx = the gradient of adaptive_avg_pool2d(), 1 x 1 being the global average.
template <class Arch>
void adaptive_avg_pool2d_gradient(const shape& in, const shape& out, const float* dy, float* dx) noexcept {
    std::fill_n(dx, in.size(), 0.0f);
    const auto channels = static_cast<std::size_t>(in.channels);
    const auto rows_of = [&](int r) { return span_of_cell(r, in.height, out.height); };
    const auto columns_of = [&](int c) { return span_of_cell(c, in.width, out.width); };
    for_each_window<const float>(in, out, dx, dy, rows_of, columns_of,
                                 [=](const gradient_window& window, const float* from) {
                                     pass_to_all<Arch>(window, channels, window.size(), from, dx);
                                 });
}

}  // namespace zp::inline v0::kernel
