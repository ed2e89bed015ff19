// Changes of layout between PyTorch's tensors, channels first, and the library's, channels last.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/architecture.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// y[columns][rows] = transpose of x[rows][columns], in blocks that stay in the first-level cache.
template <class T, class Arch = default_architecture>
void transpose_matrix(const T* x, std::size_t rows, std::size_t columns, T* y) noexcept {
    constexpr std::size_t block = 32;
    for (std::size_t first_column = 0; first_column < columns; first_column += block) {
        const std::size_t last_column = std::min(first_column + block, columns);
        for (std::size_t first_row = 0; first_row < rows; first_row += block) {
            const std::size_t last_row = std::min(first_row + block, rows);
            for (std::size_t c = first_column; c != last_column; ++c)
                for (std::size_t r = first_row; r != last_row; ++r) y[c * rows + r] = x[r * columns + c];
        }
    }
}

/// One image [channels][height][width] to [height][width][channels].
template <class T, class Arch = default_architecture> void nchw_to_nhwc(const T* x, const shape& s, T* y) noexcept {
    transpose_matrix<T, Arch>(x, static_cast<std::size_t>(s.channels), static_cast<std::size_t>(s.pixels()), y);
}

/// One image [height][width][channels] to [channels][height][width].
template <class T, class Arch = default_architecture> void nhwc_to_nchw(const T* x, const shape& s, T* y) noexcept {
    transpose_matrix<T, Arch>(x, static_cast<std::size_t>(s.pixels()), static_cast<std::size_t>(s.channels), y);
}

/// Convolution weights [out_channels][in_channels][taps], as PyTorch stores them, to [out_channels][taps][in_channels];
/// taps = kernel height * kernel width, in_channels those of one group.
template <class T, class Arch = default_architecture>
void oihw_to_ohwi(const T* w, int out_channels, int in_channels, int taps, T* y) noexcept {
    const auto inner = static_cast<std::size_t>(in_channels), kernel = static_cast<std::size_t>(taps);
    for (std::size_t o = 0; o != static_cast<std::size_t>(out_channels); ++o)
        transpose_matrix<T, Arch>(w + o * inner * kernel, inner, kernel, y + o * inner * kernel);
}

/// The inverse, for saving: [out_channels][taps][in_channels] to [out_channels][in_channels][taps].
template <class T, class Arch = default_architecture>
void ohwi_to_oihw(const T* w, int out_channels, int in_channels, int taps, T* y) noexcept {
    oihw_to_ohwi<T, Arch>(w, out_channels, taps, in_channels, y);
}

/// Weights [rows][channels * height * width] of a linear layer behind PyTorch's flatten, to those behind a flatten of
/// an NHWC activation of shape `s`: [rows][height * width * channels].
template <class T, class Arch = default_architecture>
void chw_columns_to_hwc(const T* w, int rows, const shape& s, T* y) noexcept {
    oihw_to_ohwi<T, Arch>(w, rows, s.channels, s.pixels(), y);
}

/// The inverse, for saving.
template <class T, class Arch = default_architecture>
void hwc_columns_to_chw(const T* w, int rows, const shape& s, T* y) noexcept {
    oihw_to_ohwi<T, Arch>(w, rows, s.pixels(), s.channels, y);
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
