// SPDX-License-Identifier: BSD-3-Clause
// Attention of one head in float: scores, softmax over the rows that there are, and the mean of values they weigh.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include <zeropoint/kernel/attention/attention_extents.hpp>
#include <zeropoint/kernel/float/float_masked_softmax.hpp>
#include <zeropoint/kernel/float/reproducible_product.hpp>
#include <zeropoint/kernel/float/reproducible_rows.hpp>

// What policies of float activations take, and attention_products::float32 (integer_attention.hpp has the one in int8): one
// order of sums, so that a row's result depends on no vector width, and on no row that is not there.

namespace zp::inline v0::kernel {

/// Rows of scores that are in memory together.
inline constexpr int attention_block = 16;

/// The keys of `rows` rows lie this far apart when transposed: whole vectors of every width.
constexpr int padded_rows(int rows) { return (rows + 15) / 16 * 16; }

/// to[d * padded_rows(rows) + j] = scale * k[j * pitch + d] for `rows` rows of `depth` values, and zeros up to the padding.
inline void transpose_keys(const float* k, std::ptrdiff_t pitch, int rows, int depth, float scale, float* to) noexcept {
    const std::ptrdiff_t padded = padded_rows(rows);
    constexpr int block = 8;  // rows that are read through while they are in the first-level cache
    for (int row = 0; row < rows; row += block, k += block * pitch) {
        const int count = std::min(block, rows - row);
        for (int d = 0; d != depth; ++d)
            for (int j = 0; j < count; ++j) to[d * padded + row + j] = scale * k[j * pitch + d];
    }
    for (int d = 0; d != depth; ++d) std::fill(to + d * padded + rows, to + (d + 1) * padded, 0.0f);
}

/// y[i] = (sum over j of e[i][j] * v[j]) * (1 / sum over j of e[i][j]), where e[i][j] = exp(s[i][j] - max over j of s[i][j])
/// and s[i][j] = q[i] . (scale * k[j]), for e.rows queries i and e.columns keys j of the head that x begins with: the mean of v by
/// softmax, divided last. `keys` has room for e.depth * padded_rows(e.columns) floats, `scores` for attention_block *
/// padded_rows(e.columns). With a mask, whose rows are `mask_pitch` apart (0: one for all), s[i][j] is the lowest float where
/// mask[i][j] is 0, so that e[i][j] is 0, or where all of a row are, 1.
template <class Arch>
void attention_head(const attention_rows& x, const attention_extents& e, float scale, float* keys, float* scores,
                    float* y, std::ptrdiff_t y_pitch, const float* mask = nullptr,
                    std::ptrdiff_t mask_pitch = 0) noexcept {
    const int padded = padded_rows(e.columns);
    transpose_keys(x.keys, x.key_pitch, e.columns, e.depth, scale, keys);
    for (int first = 0; first < e.rows; first += attention_block) {
        const int count = std::min(attention_block, e.rows - first);
        ordered_product<Arch>({x.queries + first * x.query_pitch, x.query_pitch}, count, e.depth, {keys, padded},
                              padded, nullptr, scores, padded);
        float largest[attention_block], sums[attention_block];
        const auto length = static_cast<std::size_t>(e.columns);
        for (int row = 0; mask != nullptr && row != count; ++row) {
            float* of_row = scores + std::ptrdiff_t{row} * padded;
            mask_row<Arch>(of_row, mask + (first + row) * mask_pitch, length, std::numeric_limits<float>::lowest(),
                           of_row);
        }
        for (int row = 0; row != count; ++row)
            largest[row] = largest_of_row<Arch>(scores + std::ptrdiff_t{row} * padded, length);
        for (int row = 0; row != count; ++row)
            sums[row] = exponentials_row<Arch>(scores + std::ptrdiff_t{row} * padded, length, largest[row]);
        float* to = y + first * y_pitch;
        ordered_product<Arch>({scores, padded}, count, e.columns, {x.values, x.value_pitch}, e.value_depth, nullptr, to,
                              y_pitch);
        for (int row = 0; row != count; ++row)
            scale_row<Arch>(to + row * y_pitch, static_cast<std::size_t>(e.value_depth), 1.0f / sums[row]);
    }
}

}  // namespace zp::inline v0::kernel
