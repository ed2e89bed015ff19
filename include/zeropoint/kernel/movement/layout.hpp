// SPDX-License-Identifier: BSD-3-Clause
// Changes of layout between PyTorch's tensors, channels first, and the library's, channels last.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

/// The architecture within `Arch` that transposes squares of T in registers: vectors of 16 bytes for 8-bit values, which
/// wider machines have too, and all for 32-bit ones; `portable` for the rest.
template <class T, class Arch>
using square_architecture =
    std::conditional_t<!has_vectors<Arch> || (sizeof(T) != 1 && sizeof(T) != 4), portable,
                       std::conditional_t<sizeof(T) == 4, Arch, typename sixteen_bytes_of<Arch>::type>>;

/// One square of as many values as a vector has: y[c * y_pitch + r] = x[r * x_pitch + c].
template <class Arch, class T>
[[gnu::always_inline]] inline void transpose_square(const T* x, std::size_t x_pitch, T* y,
                                                    std::size_t y_pitch) noexcept {
    // Signed: xsimd 14.3 transposes unsigned bytes through a pointer to signed ones, which may not alias them; GCC 12 at
    // -O2 then stores what it loaded.
    using element = std::conditional_t<sizeof(T) == 1, std::int8_t, float>;
    using values = xsimd::batch<element, Arch>;
    std::array<values, values::size> square;
    for (std::size_t r = 0; r != values::size; ++r)
        square[r] = values::load_unaligned(reinterpret_cast<const element*>(x + r * x_pitch));
    xsimd::transpose(square.data(), square.data() + values::size);
    for (std::size_t c = 0; c != values::size; ++c)
        square[c].store_unaligned(reinterpret_cast<element*>(y + c * y_pitch));
}

/// y[c * y_pitch + r] = x[r * x_pitch + c] for r < rows and c < columns, in blocks that stay in the first-level cache.
template <class T, class Arch>
void transpose_values(const T* x, std::size_t x_pitch, std::size_t rows, std::size_t columns, T* y,
                      std::size_t y_pitch) noexcept {
    constexpr std::size_t block = 32;
    for (std::size_t first_column = 0; first_column < columns; first_column += block) {
        const std::size_t last_column = std::min(first_column + block, columns);
        for (std::size_t first_row = 0; first_row < rows; first_row += block) {
            const std::size_t last_row = std::min(first_row + block, rows);
            for (std::size_t c = first_column; c != last_column; ++c)
                for (std::size_t r = first_row; r != last_row; ++r) y[c * y_pitch + r] = x[r * x_pitch + c];
        }
    }
}

/// y[c * y_pitch + r] = x[r * x_pitch + c] for r < rows and c < columns: squares in registers, then what is left at two
/// sides.
template <class T, class Arch = default_architecture>
void transpose_matrix(const T* x, std::size_t x_pitch, std::size_t rows, std::size_t columns, T* y,
                      std::size_t y_pitch) noexcept {
    using square = square_architecture<T, Arch>;
    std::size_t whole_rows = 0, whole_columns = 0;
    if constexpr (has_vectors<square>) {
        constexpr std::size_t size = vector_size<std::conditional_t<sizeof(T) == 1, std::int8_t, float>, square>;
        constexpr std::size_t block = 32;  // rows at a time, so that lines of y are written while they are near
        if (rows >= size && columns >= size) {
            whole_rows = rows / size * size;
            whole_columns = columns / size * size;
        }
        for (std::size_t first = 0; first < whole_rows; first += block) {
            const std::size_t last = std::min(first + block, whole_rows);
            for (std::size_t c = 0; c != whole_columns; c += size)
                for (std::size_t r = first; r != last; r += size)
                    transpose_square<square>(x + r * x_pitch + c, x_pitch, y + c * y_pitch + r, y_pitch);
        }
    }
    transpose_values<T, Arch>(x + whole_columns, x_pitch, whole_rows, columns - whole_columns,
                              y + whole_columns * y_pitch, y_pitch);
    transpose_values<T, Arch>(x + whole_rows * x_pitch, x_pitch, rows - whole_rows, columns, y + whole_rows, y_pitch);
}

/// y[columns][rows] = transpose of x[rows][columns], both without gaps.
template <class T, class Arch = default_architecture>
void transpose_matrix(const T* x, std::size_t rows, std::size_t columns, T* y) noexcept {
    transpose_matrix<T, Arch>(x, columns, rows, columns, y, rows);
}

/// One image [channels][height][width] to [height][width][channels].
template <class T, class Arch = default_architecture> void nchw_to_nhwc(const T* x, const shape& s, T* y) noexcept {
    transpose_matrix<T, Arch>(x, static_cast<std::size_t>(s.channels), static_cast<std::size_t>(s.pixels()), y);
}

}  // namespace zp::inline v0::kernel
