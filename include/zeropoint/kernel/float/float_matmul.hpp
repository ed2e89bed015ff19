// Float matrix products of two activations, whose sums have one order everywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <zeropoint/kernel/geometry/matmul.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// Vectorized over columns: each sum goes along the depth from first to last, with products rounded before they are added.
// So results are the same bits on every machine, and a row's do not depend on the rows beside it.

namespace zp {
inline namespace v0 {
namespace kernel {

/// The columns that are multiplied at a time, and the scratch for them.
template <class Arch> struct matmul_float_panel {
    static constexpr int vectors = 2, rows = 4;
    static constexpr int columns = has_ieee_vectors<Arch> ? vectors * static_cast<int>(vector_size<float, Arch>) : 8;
};

/// How many floats of scratch matmul_float() needs.
template <class Arch> constexpr std::size_t matmul_float_scratch(const matmul_geometry& g) {
    return static_cast<std::size_t>(g.depth) * static_cast<std::size_t>(matmul_float_panel<Arch>::columns);
}

/// `Rows` rows of a times one packed panel, of whose columns `count` exist.
template <class Arch, int Rows>
void multiply_float_rows(const float* a, std::ptrdiff_t a_pitch, const float* panel, int depth, int count, float* y,
                         std::ptrdiff_t y_pitch) noexcept {
    using sizes = matmul_float_panel<Arch>;
    std::array<float, Rows * sizes::columns> results;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        std::array<std::array<floats, sizes::vectors>, Rows> sums;
        for (auto& row : sums) row.fill(floats(0.0f));
        for (int k = 0; k != depth; ++k, panel += sizes::columns) {
            std::array<floats, sizes::vectors> b;
            unroll<sizes::vectors>([&](auto v) __attribute__((always_inline)) {
                b[v] = floats::load_unaligned(panel + v * floats::size);
            });
            unroll<Rows>([&](auto row) __attribute__((always_inline)) {
                const floats value(a[row * a_pitch + k]);
                unroll<sizes::vectors>([&](auto v)
                                           __attribute__((always_inline)) { sums[row][v] += rounded(value * b[v]); });
            });
        }
        unroll<Rows * sizes::vectors>([&](auto i) __attribute__((always_inline)) {
            sums[i / sizes::vectors][i % sizes::vectors].store_unaligned(results.data() + i * floats::size);
        });
    } else {
        results.fill(0.0f);
        for (int k = 0; k != depth; ++k, panel += sizes::columns)
            for (int i = 0; i != Rows * sizes::columns; ++i)
                results[static_cast<std::size_t>(i)] +=
                    rounded(a[i / sizes::columns * a_pitch + k] * panel[i % sizes::columns]);
    }
    for (int row = 0; row != Rows; ++row) std::copy_n(results.data() + row * sizes::columns, count, y + row * y_pitch);
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
                multiply_float_rows<Arch, rows>(a + row * g.a.row_pitch, g.a.row_pitch, scratch, g.depth, count,
                                                y + row * g.y.row_pitch + column, g.y.row_pitch);
            };
            int row = 0;
            for (; row + sizes::rows <= g.rows; row += sizes::rows)
                multiply(row, std::integral_constant<int, sizes::rows>{});
            for (; row != g.rows; ++row) multiply(row, std::integral_constant<int, 1>{});
        }
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
