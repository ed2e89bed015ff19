// Attention of one head in float: scores, softmax over the rows that there are, and the mean of values they weigh.
#pragma once

#include <algorithm>
#include <cstddef>

#include <zeropoint/kernel/float_rows.hpp>
#include <zeropoint/kernel/ordered_product.hpp>

// Scores and the product with values are a small part of a transformer's multiplications: 3 % for MiniLM at 64 tokens.
// They stay float, in one order of sums: a row's result depends on no vector width, and on no row that is not there.

namespace zp {
inline namespace v0 {
namespace kernel {

/// Rows of scores that are in memory together.
inline constexpr int attention_block = 16;

/// The keys of `rows` rows lie this far apart when transposed: whole vectors of every width.
constexpr int padded_rows(int rows) { return (rows + 15) / 16 * 16; }

/// y[i] = sum over j of softmax_j(q[i] . (scale * k[j])) * v[j] for `rows` rows of `depth` values. Rows of q, k and v are
/// `pitch` apart. `keys` has room for depth * padded_rows(rows) floats, `scores` for attention_block * padded_rows(rows).
template <class Arch>
void attention_head(const float* q, const float* k, const float* v, std::ptrdiff_t pitch, int rows, int depth,
                    float scale, float* keys, float* scores, float* y, std::ptrdiff_t y_pitch) noexcept {
    const int padded = padded_rows(rows);
    for (int d = 0; d != depth; ++d) {
        float* to = keys + std::ptrdiff_t{d} * padded;
        for (int j = 0; j != rows; ++j) to[j] = scale * k[j * pitch + d];
        std::fill(to + rows, to + padded, 0.0f);
    }
    for (int first = 0; first < rows; first += attention_block) {
        const int count = std::min(attention_block, rows - first);
        ordered_product<Arch>({q + first * pitch, pitch}, count, depth, {keys, padded}, padded, nullptr, scores,
                              padded);
        for (int row = 0; row != count; ++row)
            softmax_row<Arch>(scores + std::ptrdiff_t{row} * padded, static_cast<std::size_t>(rows));
        ordered_product<Arch>({scores, padded}, count, rows, {v, pitch}, depth, nullptr, y + first * y_pitch, y_pitch);
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
