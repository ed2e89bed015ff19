// SPDX-License-Identifier: BSD-3-Clause
// Float tables to codes of 8 or 4 bits with a scale and an offset a row, by the formulas of PyTorch's packed embeddings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/half_float.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/movement/embedding.hpp>

namespace zp::inline v0 {

/// A quantized table.
template <int Bits> struct quantized_rows {
    using table = kernel::embedding_table<std::uint8_t, Bits>;
    int columns = 1;
    std::vector<std::uint8_t> codes;
    std::vector<kernel::embedding_row> rows;

    table view() const noexcept { return {codes.data(), rows.data(), columns}; }
};

/// Quantizes rows of `columns` floats. With low and high the ends of a row and span = high - low:
///
///     8 bits   code = rne((w - low) * (255 / (span + 1e-8))), value = code * (span / 255) + low
///     4 bits   code = clamp(rne((w - low) * (1 / scale)), 0, 15), value = code * scale + low; low is rounded to float16,
///              and so is scale = (high - low) / 15
///
/// (FBGEMM's FloatOrHalfToFusedNBitRowwiseQuantizedSBHalf and its 8-bit form.) Raises value_error where a weight is not
/// finite, or where 4 bits have no float16 for a row's ends.
template <int Bits> quantized_rows<Bits> quantize_rows(std::span<const float> weights, int columns) {
    using table = typename quantized_rows<Bits>::table;
    const auto width = static_cast<std::size_t>(columns);
    const std::size_t row_bytes = table::row_bytes(columns);
    quantized_rows<Bits> result{columns, std::vector<std::uint8_t>(weights.size() / width * row_bytes), {}};
    std::uint8_t* to = result.codes.data();
    for (std::size_t first = 0; first != weights.size(); first += width, to += row_bytes) {
        const std::span<const float> row = weights.subspan(first, width);
        for (const float weight : row)
            if (!is_finite(weight) || (Bits == 4 && std::abs(weight) > 32000))
                raise<value_error>("quantize_rows: expected finite weights" +
                                   std::string(Bits == 4 ? " of at most 32000" : "") + ", row " +
                                   std::to_string(first / width) + " has " + std::to_string(weight));
        const float highest = *std::max_element(row.begin(), row.end());
        float low = *std::min_element(row.begin(), row.end()), scale = 0, inverse = 0;
        if constexpr (Bits == 8) {
            scale = (highest - low) / 255.0f;
            inverse = 255.0f / ((highest - low) + 1e-8f);
        } else {
            low = rounded_to_float16(low);
            scale = rounded_to_float16((highest - low) / 15.0f);
            if (!(scale > 0)) scale = 1;
            inverse = 1.0f / scale;
        }
        for (std::size_t i = 0; i != width; ++i) {
            const float steps = std::clamp((row[i] - low) * inverse, 0.0f, static_cast<float>((1 << Bits) - 1));
            const auto code = static_cast<unsigned>(round_half_even(steps));
            if constexpr (Bits == 8) to[i] = static_cast<std::uint8_t>(code);
            else to[i / 2] = static_cast<std::uint8_t>(to[i / 2] | code << (i % 2 * 4));
        }
        result.rows.push_back({scale, 0, low});
    }
    return result;
}

}  // namespace zp::inline v0
