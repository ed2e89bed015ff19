// SPDX-License-Identifier: BSD-3-Clause
// Two codes of 4 bits in a byte, as files have them, and rows of embeddings' tables in memory too.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace zp::inline v0::detail {

/// Codes of 4 bits by rows of `columns`, two in a byte, the first in its low bits; an odd row ends with half a byte.
template <class = void> std::vector<std::byte> pairs_of_codes(std::span<const std::byte> codes, int columns) {
    const auto width = static_cast<std::size_t>(columns), row_bytes = (width + 1) / 2;
    std::vector<std::byte> pairs(codes.size() / width * row_bytes);
    for (std::size_t i = 0; i != codes.size(); ++i) {
        const std::size_t column = i % width;
        pairs[i / width * row_bytes + column / 2] |= (codes[i] & std::byte{15}) << (column % 2 * 4);
    }
    return pairs;
}
/// The inverse: one code a byte, signed or not.
template <class = void>
std::vector<std::byte> codes_of_pairs(std::span<const std::byte> pairs, int columns, bool is_signed = true) {
    const auto width = static_cast<std::size_t>(columns), row_bytes = (width + 1) / 2;
    std::vector<std::byte> codes(pairs.size() / row_bytes * width);
    std::byte* to = codes.data();
    for (std::size_t row = 0; row != pairs.size(); row += row_bytes)
        for (std::size_t k = 0; k != width; ++k) {
            const int bits = std::to_integer<int>(pairs[row + k / 2]) >> k % 2 * 4 & 15;
            *to++ = static_cast<std::byte>(is_signed && bits > 7 ? bits - 16 : bits);
        }
    return codes;
}

}  // namespace zp::inline v0::detail
