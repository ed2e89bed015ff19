// SPDX-License-Identifier: BSD-3-Clause
// An image with a border whose values differ from channel to channel.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/core/shape.hpp>

namespace zp::inline v0::kernel {

/// y = x with its first pixel at (top, left), and the pixel `around` everywhere else. y may be larger on all sides; x lies
/// in it whole. x and y do not overlap.
template <class T>
void border(const shape& in, int top, int left, const shape& out, const T* around, const T* x, T* y) noexcept {
    const auto channels = static_cast<std::ptrdiff_t>(out.channels), x_row = in.width * channels,
               y_row = out.width * channels;
    const auto fill = [&](T* from, T* to) {
        for (; from != to; from += channels) std::copy_n(around, channels, from);
    };
    for (int row = 0; row != out.height; ++row, y += y_row) {
        if (row < top || row >= top + in.height) {
            fill(y, y + y_row);
            continue;
        }
        T* image = y + left * channels;
        fill(y, image);
        std::copy_n(x + (row - top) * x_row, x_row, image);
        fill(image + x_row, y + y_row);
    }
}

}  // namespace zp::inline v0::kernel
