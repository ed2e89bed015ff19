// SPDX-License-Identifier: BSD-3-Clause
// Float matrix products whose sums run in one order: the same bits on every architecture, whatever rows come together.
#pragma once

#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// Lanes are columns, so that a sum runs along depth, one product after another, however wide a vector is. Products are
// rounded before they are added: half as fast as fused multiplication where there is one, but not a different result
// where there is none. Float layers beside quantized ones, and the products of attention, are worth that.

namespace zp::inline v0::kernel {

/// Rows of floats in memory, `pitch` apart.
struct float_rows {
    const float* values = nullptr;
    std::ptrdiff_t pitch = 0;
};

/// How many floats a Number has.
template <class Number> inline constexpr int numbers_in = int{sizeof(Number) / sizeof(float)};

/// `Rows` x (`Vectors` Numbers) sums from column `column` on, all in registers. The last Number begins `Back` columns earlier, and
/// makes as many sums once more.
template <class Number, int Rows, int Vectors, int Back = 0>
[[gnu::always_inline]] inline void ordered_tile(float_rows x, int depth, float_rows w, int column, const float* bias,
                                                float* y, std::ptrdiff_t y_pitch) noexcept {
    constexpr auto begin = [](int v) { return v * numbers_in<Number> - (v + 1 == Vectors ? Back : 0); };
    Number sums[Rows][Vectors];
    repeat<Vectors>([&](int v) __attribute__((always_inline)) {
        const Number first = bias == nullptr ? Number(0.0f) : load_number<Number>(bias + column + begin(v));
        repeat<Rows>([&](int r) __attribute__((always_inline)) { sums[r][v] = first; });
    });
    const float* weights = w.values + column;
    for (int k = 0; k != depth; ++k, weights += w.pitch) {
        Number weight[Vectors];
        repeat<Vectors>([&](int v)
                            __attribute__((always_inline)) { weight[v] = load_number<Number>(weights + begin(v)); });
        repeat<Rows>([&](int r) __attribute__((always_inline)) {
            const Number value(x.values[r * x.pitch + k]);
            repeat<Vectors>([&](int v) __attribute__((always_inline)) {
                sums[r][v] = sums[r][v] + rounded(Number(value * weight[v]));
            });
        });
    }
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
        repeat<Vectors>([&](int v) __attribute__((always_inline)) {
            store_number(sums[r][v], y + r * y_pitch + column + begin(v));
        });
    });
}

/// All columns of `Rows` rows: `Vectors` vectors at a time, then one, the last of which may begin among those before. Fewer than a
/// vector go value by value.
template <class Arch, int Rows, int Vectors>
[[gnu::noinline]] void ordered_rows(float_rows x, int depth, float_rows w, int columns, const float* bias, float* y,
                                    std::ptrdiff_t y_pitch) noexcept {
    int column = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        constexpr int size = numbers_in<floats>;
        for (; column + Vectors * size <= columns; column += Vectors * size)
            ordered_tile<floats, Rows, Vectors>(x, depth, w, column, bias, y, y_pitch);
        for (; column + size <= columns; column += size)
            ordered_tile<floats, Rows, 1>(x, depth, w, column, bias, y, y_pitch);
        if (column != columns && columns >= size) {
            ordered_tile<floats, Rows, 1>(x, depth, w, columns - size, bias, y, y_pitch);
            return;
        }
    }
    for (; column != columns; ++column) ordered_tile<float, Rows, 1>(x, depth, w, column, bias, y, y_pitch);
}

/// y[row][c] = ((bias[c] + x[row][0] * w[0][c]) + x[row][1] * w[1][c]) + ..., every product and every sum rounded to
/// float. x: rows x depth, w: depth x columns; a null bias is zeros. y overlaps nothing.
template <class Arch>
void ordered_product(float_rows x, int rows, int depth, float_rows w, int columns, const float* bias, float* y,
                     std::ptrdiff_t y_pitch) noexcept {
    constexpr bool has_avx512 = std::is_base_of_v<xsimd::avx512f, Arch>;  // 8 x 1: by a third faster there than 4 x 2
    constexpr int height = has_avx512 ? 8 : 4, vectors = has_avx512 ? 1 : 2;
    for (; rows >= height; rows -= height, x.values += height * x.pitch, y += height * y_pitch)
        ordered_rows<Arch, height, vectors>(x, depth, w, columns, bias, y, y_pitch);
    for (; rows > 0; --rows, x.values += x.pitch, y += y_pitch)
        ordered_rows<Arch, 1, 8>(x, depth, w, columns, bias, y, y_pitch);
}

/// The same of one row and extents that are constants: the vectors of a row are dealt to as few passes as their sums fit registers,
/// all of one size or one less, because a sum waits for itself.
template <class Arch, int Depth, int Columns>
[[gnu::always_inline]] inline void ordered_row(const float* x, const float* w, const float* bias, float* y) noexcept {
    constexpr int most = 12;
    int column = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        constexpr int size = numbers_in<floats>, vectors = (Columns + size - 1) / size,
                      passes = (vectors + most - 1) / most;
        if constexpr (Columns >= size) {
            unroll<passes>([&](auto pass) __attribute__((always_inline)) {
                constexpr int count = vectors / passes + (pass < vectors % passes);
                constexpr int back = pass + 1 == passes ? vectors * size - Columns : 0;
                ordered_tile<floats, 1, count, back>({x, Depth}, Depth, {w, Columns}, column, bias, y, Columns);
                column += count * size;
            });
            return;
        }
    }
    for (; column != Columns; ++column)
        ordered_tile<float, 1, 1>({x, Depth}, Depth, {w, Columns}, column, bias, y, Columns);
}

}  // namespace zp::inline v0::kernel
