// SPDX-License-Identifier: BSD-3-Clause
// Rows of a quantized table by index, and sums of them: embedding and embedding_bag.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// Indices are not checked here: every one lies in [0, rows of the table), and offsets of bags rise from 0 to at most the
// number of indices. Whoever calls has seen to that.

namespace zp::inline v0::kernel {

/// What the codes of a row mean: value = float((code - zero_point) * scale) + offset, each operation rounded to float.
/// Rows of PyTorch's packed tables have an offset, their lowest value; others a zero point, which makes zero exact.
struct embedding_row {
    float scale = 1;
    std::int32_t zero_point = 0;
    float offset = 0;

    float value(std::int32_t code) const noexcept {
        return rounded(static_cast<float>(code - zero_point) * scale) + offset;
    }
};

/// A table of `Bits`-bit codes and what they mean. Of 4-bit codes, which are unsigned, two share a byte, the first in the
/// low bits; a row of odd length ends with half a byte.
template <class Code, int Bits = 8> struct embedding_table {
    static_assert(
        code8<Code> && (Bits == 8 || (Bits == 4 && std::is_same_v<Code, std::uint8_t>)),
        "embedding_table<Code, Bits>: Code must be std::uint8_t or std::int8_t, Bits 8, or 4 of std::uint8_t");
    const Code* codes = nullptr;
    const embedding_row* rows = nullptr;
    int columns = 1;

    static constexpr std::size_t row_bytes(int columns) { return (static_cast<std::size_t>(columns) * Bits + 7) / 8; }
    const Code* row(std::ptrdiff_t index) const noexcept {
        return codes + index * static_cast<std::ptrdiff_t>(row_bytes(columns));
    }
};

/// What a bag of rows becomes: their sum, or their mean.
enum class embedding_bag_mode : std::uint8_t { sum, mean };

/// y[i] = f(value of codes[i], y[i]) for 8-bit codes, f being called with floats or vectors of them.
template <class Arch, class Code, class F>
[[gnu::always_inline]] inline void map_row_codes(const Code* codes, std::size_t count, const embedding_row& row,
                                                 float* y, F&& f) noexcept {
    const auto mapped = [=](const auto& code, std::size_t i) __attribute__((always_inline)) {
        const auto steps = float_of(code - row.zero_point);
        using Number = std::remove_const_t<decltype(steps)>;
        const Number value = rounded(Number(steps * row.scale)) + row.offset;
        return f(value, load_number<Number>(y + i));
    };
    map_in_order<ieee_vectors<Arch>>(codes, count, y, mapped);
}

/// The same for a row of a table.
template <class Arch, class Code, int Bits, class F>
[[gnu::always_inline]] inline void map_row(const embedding_table<Code, Bits>& table, std::ptrdiff_t index, float* y,
                                           F&& f) noexcept {
    const auto columns = static_cast<std::size_t>(table.columns);
    const Code* codes = table.row(index);
    if constexpr (Bits == 8) {
        map_row_codes<Arch>(codes, columns, table.rows[index], y, f);
    } else {
        constexpr std::size_t block = 128;
        Code unpacked[block];
        for (std::size_t first = 0; first < columns; first += block, codes += block / 2) {
            const std::size_t count = std::min(block, columns - first);
            for (std::size_t i = 0; i < count; i += 2) {
                const unsigned pair = codes[i / 2];
                unpacked[i] = static_cast<Code>(pair & 15);
                unpacked[i + 1] = static_cast<Code>(pair >> 4);
            }
            map_row_codes<Arch>(unpacked, count, table.rows[index], y + first, f);
        }
    }
}

/// A table of floats.
struct float_table {
    const float* values = nullptr;
    int columns = 1;
};
template <class Arch, class F>
[[gnu::always_inline]] inline void map_row(const float_table& table, std::ptrdiff_t index, float* y, F&& f) noexcept {
    const float* row = table.values + index * table.columns;
    for (int c = 0; c != table.columns; ++c) y[c] = f(row[c], y[c]);
}

/// y[i][columns] = the values of row indices[i].
template <class Arch, class Code, int Bits, class Index>
void embedding(const embedding_table<Code, Bits>& table, const Index* indices, std::size_t count, float* y) noexcept {
    for (std::size_t i = 0; i != count; ++i, y += table.columns)
        map_row<Arch>(
            table, static_cast<std::ptrdiff_t>(indices[i]), y,
            [](const auto& value, const auto&) __attribute__((always_inline)) { return value; });
}

/// Copies row indices[i] of codes[rows][columns] to y[i]: a table of floats, or of codes whose rows share the grid of the
/// output.
template <class Code, class Index>
void embedding_codes(const Code* codes, int columns, const Index* indices, std::size_t count, Code* y) noexcept {
    for (std::size_t i = 0; i != count; ++i, y += columns)
        std::memcpy(y, codes + static_cast<std::ptrdiff_t>(indices[i]) * columns,
                    static_cast<std::size_t>(columns) * sizeof(Code));
}

/// The indices of bag `bag`: [begin, end).
struct bag_span {
    std::size_t begin, end;

    template <class Index>
    bag_span(const Index* offsets, std::size_t bags, std::size_t bag, std::size_t indices) noexcept
        : begin(static_cast<std::size_t>(offsets[bag])),
          end(bag + 1 == bags ? indices : static_cast<std::size_t>(offsets[bag + 1])) {}
};

/// y[b][columns] = the sum, from 0 and in order, of the values of rows indices[i], i in [offsets[b], offsets[b + 1]), the
/// last bag reaching to `count`. Each value is multiplied by weights[i] before, where weights are not null. A mean is the
/// sum divided by the number of rows; without rows it is 0. Rows `padding_index` are left out, -1: none. Each operation is
/// rounded to float. Table is an embedding_table or a float_table.
template <class Arch, class Table, class Index>
void embedding_bag(const Table& table, const Index* indices, std::size_t count, const Index* offsets, std::size_t bags,
                   const float* weights, embedding_bag_mode mode, std::ptrdiff_t padding_index, float* y) noexcept {
    for (std::size_t bag = 0; bag != bags; ++bag, y += table.columns) {
        const bag_span span(offsets, bags, bag, count);
        std::fill_n(y, table.columns, 0.0f);
        std::size_t rows = 0;
        for (std::size_t i = span.begin; i != span.end; ++i) {
            const auto index = static_cast<std::ptrdiff_t>(indices[i]);
            if (index == padding_index) continue;
            ++rows;
            if (weights == nullptr) {
                map_row<Arch>(
                    table, index, y,
                    [](const auto& value, const auto& sum) __attribute__((always_inline)) { return sum + value; });
            } else {
                const float weight = weights[i];
                map_row<Arch>(
                    table, index, y, [=](const auto& value, const auto& sum) __attribute__((always_inline)) {
                        return sum + rounded(value * std::decay_t<decltype(value)>(weight));
                    });
            }
        }
        if (mode == embedding_bag_mode::mean && rows > 1)
            for (int c = 0; c != table.columns; ++c) y[c] /= static_cast<float>(rows);
    }
}

}  // namespace zp::inline v0::kernel
