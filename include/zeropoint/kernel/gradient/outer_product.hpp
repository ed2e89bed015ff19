// SPDX-License-Identifier: BSD-3-Clause
// Sums of outer products over pixels: what gradients of weights are.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// A grid of pixels in memory: distances in values between neighbouring columns, rows and images.
struct pixel_grid {
    const float* first = nullptr;
    std::ptrdiff_t column = 0, row = 0, image = 0;
};

/// Which pixels of two grids meet.
struct pixel_extents {
    int images = 1, rows = 1, columns = 1;
};

/// Rows of pixels that continue one another in both grids are one row, images likewise: fewer loops around a tile.
inline void join_pixels(pixel_extents& e, pixel_grid& a, pixel_grid& b) noexcept {
    if (e.columns == 1 || (a.row == e.columns * a.column && b.row == e.columns * b.column)) {
        if (e.columns == 1) a.column = a.row, b.column = b.row;
        e.columns *= e.rows;
        e.rows = 1;
    }
    if (e.rows != 1) return;
    if (e.columns == 1 || (a.image == e.columns * a.column && b.image == e.columns * b.column)) {
        if (e.columns == 1) a.column = a.image, b.column = b.image;
        e.columns *= e.images;
        e.images = 1;
    }
}

/// The register tile: so many rows of weights times so many vectors of them.
template <class Arch> struct outer_tile {
    static constexpr int size = static_cast<int>(vector_size<float, Arch>);
    static constexpr int rows = size >= 16 ? 8 : 6;
    static constexpr int vectors = has_vectors<Arch> ? 2 : 4;
};

/// c[r][j] += sum over pixels of a[r] * b[j] for r < Rows and `Vectors` vectors j; rows of c are `pitch` apart. The last vector
/// lies `last` values behind the first one, and only its lanes [from, to) are read and written.
template <class Arch, int Rows, int Vectors>
[[gnu::noinline]] void add_outer_tile(const pixel_extents& e, const pixel_grid& a, const pixel_grid& b, float* c,
                                      std::ptrdiff_t pitch, int last, int from, int to) noexcept {
    using Number = number<Arch>;
    constexpr int size = outer_tile<Arch>::size;
    const bool whole = from == 0 && to == size;
    const auto at = [=](int v) __attribute__((always_inline)) { return v + 1 == Vectors ? last : v * size; };
    Number sums[Rows][Vectors];
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            const float* const place = c + r * pitch + at(v);
            sums[r][v] = v + 1 != Vectors || whole ? load_number<Number>(place) : load_lanes<Number>(place, from, to);
        });
    });
    const float *a_image = a.first, *b_image = b.first;
    for (int i = 0; i != e.images; ++i, a_image += a.image, b_image += b.image) {
        const float *a_row = a_image, *b_row = b_image;
        for (int row = 0; row != e.rows; ++row, a_row += a.row, b_row += b.row) {
            const float *x = a_row, *y = b_row;
            for (int column = 0; column != e.columns; ++column, x += a.column, y += b.column) {
                Number values[Vectors];
                unroll<Vectors>([&](auto v)
                                    __attribute__((always_inline)) { values[v] = load_number<Number>(y + at(v)); });
                unroll<Rows>([&](auto r) __attribute__((always_inline)) {
                    const Number factor(x[r]);
                    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                        sums[r][v] = multiply_add(factor, values[v], sums[r][v]);
                    });
                });
            }
        }
    }
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
        unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
            float* const place = c + r * pitch + at(v);
            if (v + 1 != Vectors || whole) store_number(sums[r][v], place);
            else store_lanes(sums[r][v], place, from, to);
        });
    });
}

/// The same for `rows` rows, at most outer_tile::rows.
template <class Arch, int Vectors, int Rows = outer_tile<Arch>::rows>
void add_outer_rows(int rows, const pixel_extents& e, const pixel_grid& a, const pixel_grid& b, float* c,
                    std::ptrdiff_t pitch, int last, int from, int to) noexcept {
    if constexpr (Rows > 1) {
        if (rows != Rows) {
            add_outer_rows<Arch, Vectors, Rows - 1>(rows, e, a, b, c, pitch, last, from, to);
            return;
        }
    }
    add_outer_tile<Arch, Rows, Vectors>(e, a, b, c, pitch, last, from, to);
}

/// c[r][j] += sum over pixels of a[r] * b[j], images, rows and columns of the pixels in their order, for r < rows and
/// j < columns; rows of c are `pitch` apart. `padded`: at b there are values up to a whole vector behind `columns`; else a
/// pixel of b is read up to `columns`, which are a vector at least.
template <class Arch>
void add_outer_products(pixel_extents e, pixel_grid a, pixel_grid b, int rows, int columns, bool padded, float* c,
                        std::ptrdiff_t pitch) noexcept {
    using tile = outer_tile<Arch>;
    constexpr int size = tile::size, wide = tile::vectors * size;
    join_pixels(e, a, b);
    const int tiles = (rows + tile::rows - 1) / tile::rows;
    for (int column = 0; column < columns; column += wide) {
        const int width = std::min(columns - column, wide), vectors = (width + size - 1) / size;
        // The last vector begins where it is full, or ends in what is behind the values.
        const int rest = width - (vectors - 1) * size;
        const int last = (vectors - 1) * size - (padded ? 0 : size - rest);
        const int from = padded ? 0 : size - rest, to = padded ? rest : size;
        pixel_grid there = b;
        there.first += column;
        for (int t = 0, row = 0; t != tiles; ++t) {
            const int count = (rows - row) / (tiles - t);
            pixel_grid here = a;
            here.first += row;
            float* const place = c + row * pitch + column;
            if (vectors == tile::vectors)
                add_outer_rows<Arch, tile::vectors>(count, e, here, there, place, pitch, last, from, to);
            else {
                for (int v = 0; v + 1 < vectors; ++v) {
                    pixel_grid one = there;
                    one.first += v * size;
                    add_outer_rows<Arch, 1>(count, e, here, one, place + v * size, pitch, 0, 0, size);
                }
                pixel_grid one = there;
                one.first += last;
                add_outer_rows<Arch, 1>(count, e, here, one, place + last, pitch, 0, from, to);
            }
            row += count;
        }
    }
}

/// How many floats of scratch add_packed_outer_products() needs for so many pixels.
template <class Arch> constexpr std::size_t packed_outer_scratch(int pixels, int rows) {
    using tile = outer_tile<Arch>;
    const int tiles = (rows + tile::rows - 1) / tile::rows;
    return static_cast<std::size_t>(pixels) * static_cast<std::size_t>(tiles * tile::rows + tile::vectors * tile::size);
}

/// The same sums, of operands that are copied before: for matrices whose rows are long, of which a column of tiles would
/// meet in few sets of a cache. Nothing is asked of what lies behind `columns`. With `begins` c holds nothing yet: zeros are
/// written where a tile is about to be, so that c comes from memory once and not twice.
template <class Arch>
void add_packed_outer_products(const pixel_extents& e, const pixel_grid& a, const pixel_grid& b, int rows, int columns,
                               float* c, std::ptrdiff_t pitch, float* scratch, bool begins) noexcept {
    using tile = outer_tile<Arch>;
    constexpr int size = tile::size, wide = tile::vectors * size;
    const int tiles = (rows + tile::rows - 1) / tile::rows, pixels = e.images * e.rows * e.columns;
    const auto for_each_pixel = [&](const pixel_grid& grid, auto&& body) {
        std::ptrdiff_t at = 0;
        for (int i = 0; i != e.images; ++i)
            for (int row = 0; row != e.rows; ++row)
                for (int column = 0; column != e.columns; ++column)
                    body(grid.first + i * grid.image + row * grid.row + column * grid.column, at++);
    };
    float *const left = scratch, *const right = scratch + std::ptrdiff_t{tiles} * tile::rows * pixels;
    for_each_pixel(a, [&](const float* from, std::ptrdiff_t pixel) {
        for (int t = 0, row = 0; t != tiles; ++t) {
            const int count = (rows - row) / (tiles - t);
            float* const to = left + (t * std::ptrdiff_t{pixels} + pixel) * tile::rows;
            if (count == tile::rows) copy_floats<tile::rows>(from + row, to);
            else
                for (int r = 0; r != count; ++r) to[r] = from[row + r];
            row += count;
        }
    });
    const pixel_extents all{1, 1, pixels};
    for (int column = 0; column < columns; column += wide) {
        const int width = std::min(columns - column, wide), vectors = (width + size - 1) / size;
        for_each_pixel(b, [&](const float* from, std::ptrdiff_t pixel) {
            float* const to = right + pixel * wide;
            if (width == wide) copy_floats<wide>(from + column, to);
            else std::fill(std::copy_n(from + column, width, to), to + wide, 0.0f);
        });
        const int rest = width - (vectors - 1) * size;
        for (int t = 0, row = 0; t != tiles; ++t) {
            const int count = (rows - row) / (tiles - t);
            const pixel_grid here{left + t * std::ptrdiff_t{pixels} * tile::rows, tile::rows};
            float* const place = c + row * pitch + column;
            for (int r = 0; begins && r != count; ++r) {
                float* const zeros = place + r * pitch;
                if (width != wide) std::fill_n(zeros, width, 0.0f);
                else  // no call for a line or two
                    unroll<tile::vectors>([&](auto v) __attribute__((always_inline)) {
                        store_number(number<Arch>(0.0f), zeros + v * size);
                    });
            }
            if (t + 1 != tiles)
                for (int r = 0; r != tile::rows; ++r)
                    __builtin_prefetch(place + std::min(count + r, rows - row - 1) * pitch);
            if (vectors == tile::vectors) {
                add_outer_rows<Arch, tile::vectors>(count, all, here, {right, wide}, place, pitch, wide - size, 0,
                                                    rest);
            } else {
                for (int v = 0; v != vectors; ++v)
                    add_outer_rows<Arch, 1>(count, all, here, {right + v * size, wide}, place + v * size, pitch, 0, 0,
                                            v + 1 == vectors ? rest : size);
            }
            row += count;
        }
    }
}

}  // namespace zp::inline v0::kernel
