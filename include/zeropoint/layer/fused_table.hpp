// The table of an activation that is fused into a convolution or linear layer: how finely sums are rounded in front of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/requantize.hpp>
#include <zeropoint/layer/fused_clamp.hpp>
#include <zeropoint/layer/node.hpp>
#include <zeropoint/scheme/qparams.hpp>

// A layer's sums become codes of row.table_bits bits, those of the range observed in front of the activation with each of
// its steps in 2^(bits - 8) parts; each of these codes has an entry in the table, which is the output's 8-bit code. With 8
// bits the sums are rounded to the 8-bit codes themselves, as other systems do it that run the activation by itself.

namespace zp {
inline namespace v0 {

/// Whether a row has a table with more entries than 8-bit codes have values.
constexpr bool has_fine_table(const node& row) { return is_table(row.activation) && row.table_bits > 8; }

/// Entries of a row's fused table, a byte each.
constexpr int fused_table_size(const node& row) { return is_table(row.activation) ? 1 << row.table_bits : 0; }

/// Into how many parts a fused table divides a step of the range in front of it.
constexpr int table_parts(const node& row) { return 1 << (row.table_bits - 8); }

/// The scale of what a weighted row's sums are rounded to. `range` is that of its output, or of what is in front of its fused
/// table. Exact, but for scales that are nearly zero.
constexpr float rounded_scale(const node& row, const qparams& range) {
    return has_fine_table(row) ? range.scale / static_cast<float>(table_parts(row)) : range.scale;
}

/// What a weighted row's sums are rounded to, of such a range. The lowest code of the storage type has the first of a fine
/// table's entries, so that those of a range like [-127, 127] begin behind it.
constexpr kernel::output_codes rounded_codes(const node& row, const qparams& range) {
    if (!has_fine_table(row)) return clamped_codes(row, row.activation, range);
    const std::int32_t parts = table_parts(row), lowest = row.type == scalar_type::int8 ? -128 : 0;
    return {(range.zero_point - lowest) * parts, (row.quant_min - lowest) * parts,
            (row.quant_max - lowest + 1) * parts - 1, nullptr, true};
}

}  // namespace v0
}  // namespace zp
