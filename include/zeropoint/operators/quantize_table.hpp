// SPDX-License-Identifier: BSD-3-Clause
// The table of an embedding in int8 and dynamic models, from floats to codes.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/operators/embedding_geometry.hpp>
#include <zeropoint/operators/quantize_rows.hpp>
#include <zeropoint/scheme/quantize.hpp>

namespace zp::inline v0 {
namespace detail {

template <int Bits> quantized_weights quantize_table_by_row(std::span<const float> table, int columns) {
    const quantized_rows<Bits> quantized = quantize_rows<Bits>(table, columns);
    quantized_weights result;
    result.codes.resize(quantized.codes.size());
    if (!result.codes.empty()) std::memcpy(result.codes.data(), quantized.codes.data(), quantized.codes.size());
    for (const kernel::embedding_row& row : quantized.rows) {
        result.scales.push_back(row.scale);
        result.offsets.push_back(row.offset);
    }
    return result;
}
template <class Code>
quantized_weights quantize_table_on_grid(std::span<const float> table, const qparams& range, const value_type& y) {
    quantized_weights result;
    result.codes.resize(table.size() * sizeof(Code));
    std::byte* to = result.codes.data();
    for (const float value : table) {
        const auto code = static_cast<Code>(quantize(value, range, y.quant_min, y.quant_max));
        std::memcpy(to, &code, sizeof code);
        to += sizeof code;
    }
    return result;
}

}  // namespace detail

/// The codes of an array of role `table`: of the grid of the node's output, which is `range`, where that is codes; else with a
/// scale and an offset a row, as quantize_rows makes them. Raises calibration_error with the layer's name where a weight is not
/// finite, or above 32000 in 4 bits.
template <std::same_as<node_view> View>  // or whoever includes this would instantiate the quantization of rows
quantized_weights quantize_table(const View& v, const parameter_array& array, std::span<const float> table,
                                 const qparams& range, std::string_view where) {
    const value_type& y = v.y_type();
    const int columns = array.extents[1];
    const bool is_small = y.is_float() && table_value_bits(v.n) == 4;
    for (std::size_t i = 0; i != table.size(); ++i)
        if (!is_finite(table[i]) || (is_small && std::abs(table[i]) > 32000))
            raise<calibration_error>(
                std::string(where) + (array.name[0] == 0 ? "" : ".") + array.name + ": expected finite weights" +
                (is_small ? " of at most 32000, which 4 bits take" : "") + ", row " +
                std::to_string(i / static_cast<std::size_t>(columns)) + " has " + number_text(table[i]));
    if (is_small) return detail::quantize_table_by_row<4>(table, columns);
    if (y.is_float()) return detail::quantize_table_by_row<8>(table, columns);
    if (y.storage == scalar_type::uint8) return detail::quantize_table_on_grid<std::uint8_t>(table, range, y);
    if (y.storage == scalar_type::int8) return detail::quantize_table_on_grid<std::int8_t>(table, range, y);
    return detail::quantize_table_on_grid<std::int16_t>(table, range, y);
}

}  // namespace zp::inline v0
