// SPDX-License-Identifier: BSD-3-Clause
// The specification of embedding and embedding_bag: one value at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/movement/embedding.hpp>

namespace zp::inline v0::kernel::reference {

/// The value at a place of a table.
template <class Code, int Bits>
float embedding_value(const embedding_table<Code, Bits>& table, std::ptrdiff_t row, int column) {
    const std::ptrdiff_t bit = std::ptrdiff_t{column} * Bits;
    const std::int32_t codes = table.row(row)[bit / 8];
    return table.rows[row].value(Bits == 8 ? codes : codes >> bit % 8 & 15);
}

/// One value of a bag, as kernel::embedding_bag says; indices [begin, end) are those of the bag.
template <class Code, int Bits, class Index>
float embedding_bag_value(const embedding_table<Code, Bits>& table, const Index* indices, std::size_t begin,
                          std::size_t end, const float* weights, embedding_bag_mode mode, std::ptrdiff_t padding_index,
                          int column) {
    float sum = 0;
    int rows = 0;
    for (std::size_t i = begin; i != end; ++i) {
        const auto row = static_cast<std::ptrdiff_t>(indices[i]);
        if (row == padding_index) continue;
        const float value = embedding_value(table, row, column);
        sum += weights == nullptr ? value : rounded(value * weights[i]);
        ++rows;
    }
    return mode == embedding_bag_mode::mean && rows > 1 ? sum / static_cast<float>(rows) : sum;
}

}  // namespace zp::inline v0::kernel::reference
