// SPDX-License-Identifier: BSD-3-Clause
// What a matrix product of two activations computes: extents and where rows lie, as plain numbers.
#pragma once

#include <cstddef>

namespace zp::inline v0::kernel {

/// Where the rows of a batch of matrices lie, in values. Values of a row lie side by side.
struct matrix_layout {
    std::ptrdiff_t row_pitch = 0;    ///< from a row to the next
    std::ptrdiff_t batch_pitch = 0;  ///< from a matrix to the next; 0: all batches share one

    constexpr bool operator==(const matrix_layout&) const = default;
};

/// y[i][j] = sum over k of a[i][k] * b[k][j] for i < rows, k < depth, j < columns, `batches` times; `transposed`: of
/// b[j][k]. Heads of an attention layer whose values lie side by side in a row are batches a few columns apart.
struct matmul_geometry {
    int rows = 1, depth = 1, columns = 1;
    bool transposed = false;
    int batches = 1;
    matrix_layout a, b, y;

    constexpr bool operator==(const matmul_geometry&) const = default;
};

/// The geometry of matrices without gaps, one behind another.
constexpr matmul_geometry dense_matmul(int rows, int depth, int columns, bool transposed = false, int batches = 1) {
    const std::ptrdiff_t m = rows, k = depth, n = columns;
    return {rows, depth, columns, transposed, batches, {k, m * k}, {transposed ? k : n, k * n}, {n, m * n}};
}

}  // namespace zp::inline v0::kernel
