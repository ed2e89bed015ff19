// SPDX-License-Identifier: BSD-3-Clause
// Gradients of matrix products of two activations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/geometry/matmul.hpp>
#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/gradient/outer_product.hpp>
#include <zeropoint/kernel/gradient/window_product.hpp>

namespace zp::inline v0::kernel {

/// How many floats of scratch matmul_gradient() needs.
template <class Arch> constexpr std::size_t matmul_gradient_scratch(const matmul_geometry& g) {
    constexpr auto size = static_cast<std::size_t>(outer_tile<Arch>::size);
    const std::size_t panel =
        static_cast<std::size_t>(product_tile<Arch>::channels) * static_cast<std::size_t>(g.columns);
    const int inner = g.transposed ? g.depth : g.columns;
    return std::max(panel, static_cast<std::size_t>(inner) < size ? size * static_cast<std::size_t>(g.rows) : 0);
}

/// The gradients of matmul_float(): da = dy * b', db = a' * dy, of the layouts of a and b; either may be null. Where all
/// batches share a matrix b, db is the sum of theirs, in their order; a is one a batch. `scratch` has
/// matmul_gradient_scratch<Arch>(g) floats; nothing overlaps.
template <class Arch>
void matmul_gradient(const matmul_geometry& g, const float* a, const float* b, const float* dy, float* da, float* db,
                     float* scratch) noexcept {
    constexpr float infinite = infinity;
    constexpr int tile = product_tile<Arch>::channels, size = outer_tile<Arch>::size;
    const int b_rows = g.transposed ? g.columns : g.depth, b_columns = g.transposed ? g.depth : g.columns;
    for (int batch = 0; batch != g.batches; ++batch) {
        const float *const from_a = a + batch * g.a.batch_pitch, *const from_b = b + batch * g.b.batch_pitch,
                           *const given = dy + batch * g.y.batch_pitch;
        if (da != nullptr) {
            const conv2d_geometry rows{{1, 1, g.columns}, {1, 1, g.depth}};
            multiply_windows<Arch>(rows.in, g.rows, {given, g.y.row_pitch}, {nullptr, -infinite, infinite},
                                   {da + batch * g.a.batch_pitch, g.a.row_pitch}, scratch, [&](const auto& visit) {
                                       visit(product_window(rows), [&](int channel, int channels, float* panel) {
                                           for (int k = 0; k != g.columns; ++k, panel += tile)
                                               for (int j = 0; j != tile; ++j)
                                                   panel[j] = j >= channels ? 0.0f
                                                              : g.transposed
                                                                  ? from_b[k * g.b.row_pitch + channel + j]
                                                                  : from_b[(channel + j) * g.b.row_pitch + k];
                                       });
                                   });
        }
        if (db == nullptr) continue;
        float* const to = db + batch * g.b.batch_pitch;
        if (batch == 0 || g.b.batch_pitch != 0)
            for (int row = 0; row != b_rows; ++row) std::fill_n(to + row * g.b.row_pitch, b_columns, 0.0f);
        pixel_grid left{from_a, g.a.row_pitch}, right{given, g.y.row_pitch};
        if (g.transposed) std::swap(left, right);
        const bool copies = b_columns < size;
        if (copies) {
            for (int row = 0; row != g.rows; ++row) {
                float* const copy = scratch + row * size;
                std::fill_n(std::copy_n(right.first + row * right.column, b_columns, copy), size - b_columns, 0.0f);
            }
            right = {scratch, size};
        }
        add_outer_products<Arch>({1, 1, g.rows}, left, right, b_rows, b_columns, copies, to, g.b.row_pitch);
    }
}

}  // namespace zp::inline v0::kernel
