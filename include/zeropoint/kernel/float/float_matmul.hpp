// SPDX-License-Identifier: BSD-3-Clause
// Float matrix products of two activations, whose sums have one order everywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/float/reproducible_product.hpp>
#include <zeropoint/kernel/geometry/matmul.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>

// Vectorized over columns: each sum goes along the depth from first to last, with products rounded before they are added.
// So results are the same bits on every machine, and a row's do not depend on the rows beside it.

namespace zp::inline v0::kernel {

/// The columns that are multiplied at a time, and the scratch for them.
template <class Arch> struct matmul_float_panel {
    static constexpr int vectors = 2, rows = 4;
    static constexpr int columns = has_ieee_vectors<Arch> ? vectors * static_cast<int>(vector_size<float, Arch>) : 8;
};

/// How many floats of scratch matmul_float() needs.
template <class Arch> constexpr std::size_t matmul_float_scratch(const matmul_geometry& g) {
    return static_cast<std::size_t>(g.depth) * static_cast<std::size_t>(matmul_float_panel<Arch>::columns);
}

/// y = a * b, as reference::matmul_float says, bit by bit. Nothing beyond the rows of a, b and y is touched; `scratch` has
/// matmul_float_scratch<Arch>(g) floats. No operand overlaps another.
template <class Arch>
void matmul_float(const matmul_geometry& g, const float* a, const float* b, float* y, float* scratch) noexcept {
    using sizes = matmul_float_panel<Arch>;
    constexpr int width = sizes::columns;
    for (int batch = 0; batch != g.batches; ++batch, a += g.a.batch_pitch, b += g.b.batch_pitch, y += g.y.batch_pitch) {
        for (int column = 0; column < g.columns; column += width) {
            const int count = std::min(width, g.columns - column);
            float* to = scratch;
            for (int k = 0; k != g.depth; ++k, to += width) {
                if (!g.transposed) std::copy_n(b + k * g.b.row_pitch + column, count, to);
                else
                    for (int j = 0; j != count; ++j) to[j] = b[(column + j) * g.b.row_pitch + k];
                std::fill(to + count, to + width, 0.0f);
            }
            const auto multiply = [&](int row, auto rows) {
                std::array<float, static_cast<std::size_t>(rows * width)> results;
                ordered_rows<Arch, rows, sizes::vectors>({a + row * g.a.row_pitch, g.a.row_pitch}, g.depth,
                                                         {scratch, width}, width, nullptr, results.data(), width);
                for (int r = 0; r != rows; ++r)
                    std::copy_n(results.data() + r * width, count, y + (row + r) * g.y.row_pitch + column);
            };
            int row = 0;
            for (; row + sizes::rows <= g.rows; row += sizes::rows)
                multiply(row, std::integral_constant<int, sizes::rows>{});
            for (; row != g.rows; ++row) multiply(row, std::integral_constant<int, 1>{});
        }
    }
}

}  // namespace zp::inline v0::kernel
