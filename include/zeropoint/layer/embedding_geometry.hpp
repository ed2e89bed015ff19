// What an embedding of a model reads, as plain numbers, and where a table of codes with scales of its own lies in a block.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/layer/operator_description.hpp>

namespace zp {
inline namespace v0 {

/// A row of the table for each index of [first, first + count), count 0 being all from `first` on. By place it is row
/// `first` for the first column of a sequence, the next one for the second, and so on, whatever the sequence holds.
struct embedding_layer {
    int rows = 1, columns = 1;
    int first = 0, count = 0;
    bool by_place = false;

    /// How many rows are read.
    constexpr int count_of(const shape& x) const { return by_place ? x.width : count == 0 ? x.width - first : count; }
    constexpr bool accepts(const shape& x) const {
        if (x.height != 1 || first < 0 || count < 0 || count_of(x) < 1) return false;
        return first + count_of(x) <= (by_place ? rows : x.width);
    }
};

/// Bits of a value of the table: 32 of floats; 8 or 4 of codes with a scale and an offset a row (layer/quantize_rows.hpp),
/// whose values leave the row as floats.
constexpr int table_value_bits(const node& row) {
    if (row.weight_type == scalar_type::float32) return 32;
    return row.weight_max > 15 ? 8 : 4;
}
/// An embedding whose output is floats and whose table is codes.
constexpr bool has_coded_table(const node& row) {
    return is_embedding(row) && row.type == scalar_type::float32 && row.weight_type != scalar_type::float32;
}
/// An embedding whose table is codes, of whatever meaning.
constexpr bool keeps_table_codes(const node& row) {
    return is_embedding(row) && (row.type != scalar_type::float32 || row.weight_type != scalar_type::float32);
}
constexpr bool any_keeps_table_codes(const node* rows, int size) {
    for (int i = 0; i != size; ++i)
        if (keeps_table_codes(rows[i])) return true;
    return false;
}
/// Makes a float embedding one with a table of codes.
constexpr void code_table(node& row, int bits) {
    row.weight_type = scalar_type::uint8;
    row.weight_min = 0;
    row.weight_max = (1 << bits) - 1;
}

/// The block of such a row: the codes, then one kernel::embedding_row a row.
struct coded_table_layout {
    int rows, columns, row_bytes, ranges, bytes;

    constexpr explicit coded_table_layout(const node& row)
        : rows(row.described->embedding->rows),
          columns(row.described->embedding->columns),
          row_bytes((columns * table_value_bits(row) + 7) / 8),
          ranges(static_cast<int>(align_up(static_cast<std::size_t>(rows) * static_cast<std::size_t>(row_bytes)))),
          bytes(ranges + rows * bytes_of_range) {}

    static constexpr int bytes_of_range = 12;  // sizeof(kernel::embedding_row)
};

}  // namespace v0
}  // namespace zp
