// SPDX-License-Identifier: BSD-3-Clause
// How many queries an attention has, of how many keys, and where their rows lie.
#pragma once

#include <cstddef>

namespace zp::inline v0::kernel {

/// What scores may be multiplied by: one that is left out is then still below all others by more than exponents reach, and no
/// factor of a query is infinite.
inline constexpr float least_score_factor = 0x1p-16f, largest_score_factor = 0x1p6f;

/// Extents of an attention: `rows` queries of `columns` keys and as many values.
struct attention_extents {
    int rows, columns, heads;
    int depth, value_depth;  ///< of a head's queries and keys; of its values
    float factor = 0;        ///< of scores, from least_score_factor to largest_score_factor; 0: 1 / sqrt(depth)

    constexpr int model() const { return heads * depth; }
    constexpr int value_model() const { return heads * value_depth; }
    /// Of a sequence to itself.
    static constexpr attention_extents of_itself(int rows, int heads, int depth) {
        return {rows, rows, heads, depth, depth};
    }
};

/// Queries, keys and values, and how many floats a row of each is behind the one before.
struct attention_rows {
    const float *queries, *keys, *values;
    std::ptrdiff_t query_pitch, key_pitch, value_pitch;
};

}  // namespace zp::inline v0::kernel
