// SPDX-License-Identifier: BSD-3-Clause
// The table of a function that is fused into an operator with filters: how finely sums are rounded in front of it.
#pragma once

#include <cstdint>

#include <zeropoint/graph/clamp_bounds.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>

// Sums become codes of fused.lut_bits bits, those of the range observed in front of the function with each of its steps in
// 2^(bits - 8) parts; each of these codes has an entry in the table, which is the output's 8-bit code. With 8 bits the sums
// are rounded to the 8-bit codes themselves, as other systems do it that run the function by itself.

namespace zp::inline v0 {

/// Whether a node has a table with more entries than 8-bit codes have values.
constexpr bool has_fine_table(const node& n) { return n.fused.lut != nullptr && n.fused.lut_bits > 8; }

/// Entries of a node's fused table, a byte each.
constexpr int fused_table_size(const node& n) { return n.fused.lut != nullptr ? 1 << n.fused.lut_bits : 0; }

/// Into how many parts a fused table divides a step of the range in front of it.
constexpr int table_parts(const node& n) { return 1 << (n.fused.lut_bits - 8); }

/// The range that sums are rounded to: the output's, or what is in front of its fused table.
constexpr short rounded_qparams_id(const node& n) {
    return n.fused.lut != nullptr ? n.fused.lut_qparams_id : n.out.qparams_id;
}
/// The scale of what sums are rounded to, of that range. Exact, but for scales that are nearly zero.
constexpr float rounded_scale(const node& n, const qparams& range) {
    return has_fine_table(n) ? range.scale / static_cast<float>(table_parts(n)) : range.scale;
}

/// Places in a fine table. The lowest code of the storage type has the first of its entries, so that those of a range like
/// [-127, 127] begin behind it.
constexpr kernel::output_codes fine_codes(const node& n, const qparams& range) {
    const std::int32_t parts = table_parts(n), lowest = n.out.storage == scalar_type::int8 ? -128 : 0;
    return {(range.zero_point - lowest) * parts, (n.out.quant_min - lowest) * parts,
            (n.out.quant_max - lowest + 1) * parts - 1, nullptr, true};
}
/// What sums are rounded to, of such a range.
constexpr kernel::output_codes rounded_codes(const node& n, const qparams& range) {
    return has_fine_table(n) ? fine_codes(n, range) : clamped_codes(n, range);
}

}  // namespace zp::inline v0
