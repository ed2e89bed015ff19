// The table of an embedding in int8 and dynamic models: from floats to the bytes of its block, and what reads rows of codes that
// have scales of their own.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/embedding.hpp>
#include <zeropoint/layer/context.hpp>
#include <zeropoint/layer/embedding_geometry.hpp>
#include <zeropoint/layer/quantize_rows.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp {
inline namespace v0 {

static_assert(sizeof(kernel::embedding_row) == coded_table_layout::bytes_of_range);

/// The block of a row with a coded table (see has_coded_table), of `Bits` bits.
template <int Bits>
kernel::embedding_table<std::uint8_t, Bits> coded_table_of(const node& row, const std::byte* block) noexcept {
    const coded_table_layout at(row);
    return {reinterpret_cast<const std::uint8_t*>(block),
            reinterpret_cast<const kernel::embedding_row*>(block + at.ranges), at.columns};
}

namespace detail {

template <int Bits> void write_coded_table(const node& row, std::span<const float> table, std::byte* block) {
    const coded_table_layout at(row);
    const quantized_rows<Bits> quantized = quantize_rows<Bits>(table, at.columns);
    std::memcpy(block, quantized.codes.data(), quantized.codes.size());
    std::memcpy(block + at.ranges, quantized.rows.data(), quantized.rows.size() * sizeof(kernel::embedding_row));
}
template <class Code>
void write_table_on_grid(const node& row, std::span<const float> table, const qparams& range, std::byte* block) {
    auto* codes = reinterpret_cast<Code*>(block);
    for (const float value : table) *codes++ = static_cast<Code>(quantize(value, range, row.quant_min, row.quant_max));
}

}  // namespace detail

/// Fills the block of an embedding whose table is codes: of its output's grid, which is `range`, or with a scale and an offset a
/// row, as quantize_rows makes them. Raises calibration_error with the layer's name where a weight is not finite, or above
/// 32000 in 4 bits.
inline void write_table(const node& row, std::span<const float> table, const qparams& range, std::string_view where,
                        std::byte* block) {
    const bool is_coded = has_coded_table(row), is_small = is_coded && table_value_bits(row) == 4;
    for (std::size_t i = 0; i != table.size(); ++i)
        if (!std::isfinite(table[i]) || (is_small && std::abs(table[i]) > 32000))
            raise<calibration_error>(std::string(where) + ".weight: expected finite weights" +
                                     (is_small ? " of at most 32000, which 4 bits take" : "") + ", row " +
                                     std::to_string(i / static_cast<std::size_t>(row.described->embedding->columns)) +
                                     " has " + number_text(table[i]));
    if (is_small) detail::write_coded_table<4>(row, table, block);
    else if (is_coded) detail::write_coded_table<8>(row, table, block);
    else if (row.type == scalar_type::uint8) detail::write_table_on_grid<std::uint8_t>(row, table, range, block);
    else if (row.type == scalar_type::int8) detail::write_table_on_grid<std::int8_t>(row, table, range, block);
    else detail::write_table_on_grid<std::int16_t>(row, table, range, block);
}

/// y[i] = the values of a row of codes.
template <class Arch, int Bits> void run_coded_table(const node& row, const context& c) noexcept {
    const embedding_layer& layer = *row.described->embedding;
    const auto table = coded_table_of<Bits>(row, c.block<std::byte>(row));
    auto* y = c.out<float>(row);
    if (!layer.by_place)
        return kernel::embedding<Arch>(table, c.in<std::int32_t>(row) + layer.first,
                                       static_cast<std::size_t>(row.out.width), y);
    for (int i = layer.first; i != layer.first + row.out.width; ++i, y += layer.columns)
        kernel::embedding<Arch>(table, &i, 1, y);
}
template <class Arch> constexpr step_function coded_table_step(const node& row) {
    return table_value_bits(row) == 4 ? &run_coded_table<Arch, 4> : &run_coded_table<Arch, 8>;
}

}  // namespace v0
}  // namespace zp
