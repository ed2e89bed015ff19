// SPDX-License-Identifier: BSD-3-Clause
// The specification of matrix products of two activations: plain loops that every kernel is tested against.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/geometry/matmul.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

namespace zp::inline v0::kernel::reference {

/// y[i][j] = finish(sum (a - a_zero_point) * (b - b_zero_point), j), the sum exact in 64 bits. `finish` takes it as
/// std::int32_t, whose range the caller vouches for.
template <class A, class B, class Out, class Finish>
void matmul(const matmul_geometry& g, const A* a, std::int32_t a_zero_point, const B* b, std::int32_t b_zero_point,
            Finish finish, Out* y) {
    for (int batch = 0; batch != g.batches; ++batch) {
        for (int i = 0; i != g.rows; ++i) {
            for (int j = 0; j != g.columns; ++j) {
                std::int64_t sum = 0;
                for (int k = 0; k != g.depth; ++k) {
                    const std::ptrdiff_t row = g.transposed ? j : k, column = g.transposed ? k : j;
                    const std::int64_t left = a[batch * g.a.batch_pitch + i * g.a.row_pitch + k];
                    const std::int64_t right = b[batch * g.b.batch_pitch + row * g.b.row_pitch + column];
                    sum += (left - a_zero_point) * (right - b_zero_point);
                }
                y[batch * g.y.batch_pitch + i * g.y.row_pitch + j] =
                    static_cast<Out>(finish(static_cast<std::int32_t>(sum), j));
            }
        }
    }
}

/// y[i][j] = ((0 + a[i][0] * b[0][j]) + a[i][1] * b[1][j]) + ..., every operation rounded to float.
inline void matmul_float(const matmul_geometry& g, const float* a, const float* b, float* y) {
    for (int batch = 0; batch != g.batches; ++batch) {
        for (int i = 0; i != g.rows; ++i) {
            for (int j = 0; j != g.columns; ++j) {
                float sum = 0;
                for (int k = 0; k != g.depth; ++k) {
                    const std::ptrdiff_t row = g.transposed ? j : k, column = g.transposed ? k : j;
                    sum += rounded(a[batch * g.a.batch_pitch + i * g.a.row_pitch + k] *
                                   b[batch * g.b.batch_pitch + row * g.b.row_pitch + column]);
                }
                y[batch * g.y.batch_pitch + i * g.y.row_pitch + j] = sum;
            }
        }
    }
}

}  // namespace zp::inline v0::kernel::reference
