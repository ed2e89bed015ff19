// SPDX-License-Identifier: BSD-3-Clause
// What an embedding of a model reads, as plain numbers, and where a table of codes with scales of its own lies in a block.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/graph/operator_info.hpp>

namespace zp::inline v0 {

/// A row of the table for each index of [first, first + count), count 0 being all from `first` on. By place it is row
/// `first` for the first column of a sequence, the next one for the second, and so on, whatever the sequence holds. With `bags`
/// the rows of as many indices each are added, or their mean is taken, but for rows `padding_index`.
struct embedding_layer {
    int rows = 1, columns = 1;
    int first = 0, count = 0;
    bool by_place = false;
    int bags = 0;
    bool is_mean = false;
    int padding_index = -1;

    /// How many rows are read, and how many are given.
    constexpr int count_of(const shape& x) const { return by_place ? x.width : count == 0 ? x.width - first : count; }
    constexpr int outputs_of(const shape& x) const { return bags == 0 ? count_of(x) : bags; }
    constexpr bool accepts(const shape& x) const {
        if (x.height != 1 || first < 0 || count < 0 || count_of(x) < 1) return false;
        if (bags != 0 && count_of(x) % bags != 0) return false;
        return first + count_of(x) <= (by_place ? rows : x.width);
    }
};

/// The numbers of an embedding as its record has them, and back.
constexpr std::array<int, 4> options_of_embedding(const embedding_layer& layer) {
    return {layer.rows, layer.columns, layer.first, layer.count};
}
constexpr std::array<int, 7> options_of_embedding_bag(const embedding_layer& layer) {
    return {layer.rows, layer.columns, layer.first, layer.count, layer.bags, layer.is_mean, layer.padding_index};
}
constexpr embedding_layer embedding_layer_of(const operator_info& info) {
    const std::span<const int> o = info.options;
    const embedding_layer rows{o[0], o[1], o[2], o[3], info.inputs == input_rule::extents};
    if (o.size() == 4) return rows;
    return {o[0], o[1], o[2], o[3], false, o[4], o[5] != 0, o[6]};
}

/// An embedding by place goes on from step to step of a stream.
constexpr state_list states_of_places(const node_view&) { return state_list().add("place", scalar_type::int32, 1); }
/// The row of its next place; behind the table the last one.
constexpr int next_place(const embedding_layer& layer, std::int32_t& place) {
    const int row = layer.first + place;
    if (row != layer.rows - 1) ++place;
    return row;
}

/// Raises value_error, with the layer's name, for the first of `count` indices from number `first` on that is no row, or no
/// value of a mask.
template <class Index>
void check_indices(const char* layer, const Index* indices, std::ptrdiff_t first, std::ptrdiff_t count, int rows,
                   bool is_mask = false) {
    for (std::ptrdiff_t i = first; i != first + count; ++i)
        if (std::cmp_less(indices[i], 0) || std::cmp_greater_equal(indices[i], rows))
            raise<value_error>(std::string(layer) + ": index " + std::to_string(indices[i]) + " at position " +
                               std::to_string(i) +
                               (is_mask ? " is no value of a mask: 1 keeps a place, 0 leaves it out"
                                        : " is outside of the table's " + std::to_string(rows) + " rows"));
}

/// Bits of a value of the table of a float node: 32 of floats.
constexpr int table_value_bits(const node& n) {
    return n.weights.storage == scalar_type::float32 ? 32 : bits_of_codes(n.weights.quant_min, n.weights.quant_max);
}

/// The block of a node whose table is such codes: these, then one kernel::embedding_row a row.
struct coded_table_layout {
    int rows, columns, row_bytes, ranges, bytes;

    constexpr explicit coded_table_layout(const node& n)
        : rows(embedding_layer_of(*n.op).rows),
          columns(embedding_layer_of(*n.op).columns),
          row_bytes((columns * table_value_bits(n) + 7) / 8),
          ranges(static_cast<int>(align_up(static_cast<std::size_t>(rows) * static_cast<std::size_t>(row_bytes)))),
          bytes(ranges + rows * bytes_of_range) {}

    static constexpr int bytes_of_range = 12;  // sizeof(kernel::embedding_row)
};

}  // namespace zp::inline v0
