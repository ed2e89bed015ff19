// SPDX-License-Identifier: BSD-3-Clause
// The layouts of other frameworks beside the library's own, for tests that compare with them.
#pragma once

#include <cstddef>

#include <zeropoint/core/shape.hpp>

namespace layouts {

/// y[matrix][column][row] = x[matrix][row][column]
template <class T> void transpose(const T* x, std::size_t matrices, std::size_t rows, std::size_t columns, T* y) {
    for (std::size_t m = 0; m != matrices; ++m, x += rows * columns)
        for (std::size_t c = 0; c != columns; ++c)
            for (std::size_t r = 0; r != rows; ++r) *y++ = x[r * columns + c];
}

/// One image [height][width][channels] to [channels][height][width].
template <class T> void nhwc_to_nchw(const T* x, const zp::shape& s, T* y) {
    transpose(x, 1, static_cast<std::size_t>(s.pixels()), static_cast<std::size_t>(s.channels), y);
}

/// Convolution weights [out_channels][in_channels][taps], as PyTorch stores them, to [out_channels][taps][in_channels];
/// taps = kernel height * kernel width, in_channels those of one group.
template <class T> void oihw_to_ohwi(const T* w, int out_channels, int in_channels, int taps, T* y) {
    transpose(w, static_cast<std::size_t>(out_channels), static_cast<std::size_t>(in_channels),
              static_cast<std::size_t>(taps), y);
}

}  // namespace layouts
