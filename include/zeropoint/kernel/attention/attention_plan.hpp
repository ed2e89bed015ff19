// SPDX-License-Identifier: BSD-3-Clause
// How attention in integers lays out its codes, and the two epilogues of its products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/attention/attention_extents.hpp>
#include <zeropoint/kernel/attention/softmax_codes.hpp>
#include <zeropoint/kernel/dynamic/symmetric_codes.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/matmul.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// The largest depth of a head, and the most keys: 255 * 127 times either is an int32. (A dynamic linear layer has fewer
/// inputs than that.)
inline constexpr int largest_attention = 0x7fffffff / (255 * 127);
/// The largest scale that a row of keys may have: sums times it, and their differences, are finite.
inline constexpr float largest_key_scale = 0x1p90f;

/// What follows from the extents: how codes are laid out, and the parts of scratch.
template <class Arch> struct integer_attention_plan {
    using format = matmul_format<Arch>;
    using value = typename format::activation;
    static constexpr bool is_quads = std::is_same_v<format, byte_quads>;
    static constexpr bool is_signed = is_quads && operations<Arch>::quads == quad_products::exact_signed;
    static constexpr int width = panel_width<Arch>;
    static constexpr int block = softmax_rows;  ///< rows of scores that are in memory together
    static constexpr std::ptrdiff_t size = sizeof(value);

    attention_extents extents;
    int length;                             ///< the depth made even or a multiple of 4
    int key_panels, value_panels;           ///< of all keys; of the values of a head
    std::ptrdiff_t row_pitch, score_pitch;  ///< from a row of staged codes to the next; of scores, or their codes
    std::ptrdiff_t key_panel, value_panel;  ///< values of one panel, of one head
    std::size_t queries, key_rows, keys, values, scores, probabilities;
    std::size_t codes, key_bias, value_bias, flips, offsets, kept, seen;
    std::size_t query_factors, key_scales, value_scales, value_inverses, magnitudes, row_factors, bytes;

    constexpr explicit integer_attention_plan(const attention_extents& e)
        : extents(e),
          length(whole(e.depth)),
          key_panels((e.columns + width - 1) / width),
          value_panels((e.value_depth + width - 1) / width),
          row_pitch(spread_pitch(std::ptrdiff_t{e.heads} * length, size)),
          score_pitch(spread_pitch(whole_of(e.columns, std::max(width, softmax_step<Arch>)), size)),
          key_panel(std::ptrdiff_t{length} * width),
          value_panel(std::ptrdiff_t{whole(e.columns)} * width) {
        std::size_t end = 0;
        const auto take = [&](std::ptrdiff_t count, std::size_t element) {
            const std::size_t begin = end;
            end += align_up(static_cast<std::size_t>(count) * element);
            return begin;
        };
        constexpr std::size_t code = sizeof(value), number = 4;
        queries = take(e.rows * row_pitch + band_slack, code);
        key_rows = take(width * row_pitch, code);
        keys = take(key_panels * e.heads * key_panel, code);
        values = take(e.heads * value_panels * value_panel, code);
        scores = take(block * score_pitch, number);
        probabilities = take(block * score_pitch + band_slack, code);
        codes = take(std::max<std::ptrdiff_t>(e.model(), is_quads ? 0 : block * score_pitch), 1);
        key_bias = take(key_panels * e.heads * width, number);
        value_bias = take(e.heads * value_panels * width, number);
        flips = take(std::max(length, whole(e.columns)) + band_slack, code);
        offsets = take(2 * block, number);
        kept = take(e.columns, number);
        seen = take(2 * e.rows, number);
        query_factors = take(e.rows, number);
        key_scales = take(key_panels * width, number);
        value_scales = take(e.value_model(), number);
        value_inverses = take(e.value_model(), number);
        magnitudes = take(e.value_model(), number);
        row_factors = take(block, number);
        bytes = end;
    }
    /// Of a sequence to itself.
    constexpr integer_attention_plan(int rows, int heads, int depth)
        : integer_attention_plan(attention_extents::of_itself(rows, heads, depth)) {}

    /// A number of codes as products take them: even or a multiple of 4.
    static constexpr int whole(int count) { return whole_of(count, format::depth); }
    static constexpr int whole_of(int count, int of) { return (count + of - 1) / of * of; }
};

/// y = float(sum) * factor[column].
struct column_factors {
    const float* factor = nullptr;

    float operator()(std::int32_t sum, int column) const noexcept { return static_cast<float>(sum) * factor[column]; }
    template <class Operations> [[gnu::always_inline]] auto vector(int column, int count) const {
        const auto factors = Operations::load_first(factor + column, count);
        return [=](const typename Operations::int32& sums) __attribute__((always_inline)) {
            return xsimd::to_float(sums) * factors;
        };
    }
};

/// y = float(sum) * (of_row[row] * of_column[column]), where row 0 begins at `output` and rows lie `pitch` apart.
struct row_and_column_factors {
    const float *of_row = nullptr, *of_column = nullptr, *output = nullptr;
    std::ptrdiff_t pitch = 0;

    /// Sums to their place in the output, as finish_rows() says.
    template <class Arch>
    void finish_tile(const std::int32_t* sums, int rows, int first_column, int columns, float* y,
                     std::ptrdiff_t y_pitch) const noexcept {
        using ops = operations<Arch>;
        constexpr int width = panel_width<Arch>;
        const float* row_factor = of_row + (y - output) / pitch;
        if constexpr (!has_code_vectors<Arch>) {
            for (int row = 0; row != rows; ++row, y += y_pitch)
                for (int c = 0; c != columns; ++c)
                    y[c] = static_cast<float>(sums[row * width + c]) *
                           rounded(row_factor[row] * of_column[first_column + c]);
        } else {
            using real = typename ops::real;
            real factors[ops::vectors];
            unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                factors[v] = ops::load_first(of_column + first_column + v * ops::lanes, columns - v * ops::lanes);
            });
            for (int row = 0; row != rows; ++row, sums += width, y += y_pitch) {
                const real factor(row_factor[row]);
                real values[ops::vectors];
                unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                    const auto sum = ops::template load<typename ops::int32>(sums + v * ops::lanes);
                    values[v] = xsimd::to_float(sum) * rounded(real(factor * factors[v]));
                });
                if (columns == width) {
                    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                        ops::store(y + v * ops::lanes, values[v]);
                    });
                } else {
                    float part[width];
                    unroll<ops::vectors>([&](auto v) __attribute__((always_inline)) {
                        ops::store(part + v * ops::lanes, values[v]);
                    });
                    std::memcpy(y, part, static_cast<std::size_t>(columns) * sizeof(float));
                }
            }
        }
    }
};

}  // namespace zp::inline v0::kernel
