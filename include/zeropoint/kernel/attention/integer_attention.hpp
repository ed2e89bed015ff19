// SPDX-License-Identifier: BSD-3-Clause
// Attention whose two products are of int8 codes that it quantizes itself: all heads over as many rows as there are.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/attention/attention_mask.hpp>
#include <zeropoint/kernel/attention/attention_plan.hpp>
#include <zeropoint/kernel/attention/softmax_codes.hpp>
#include <zeropoint/kernel/dynamic/symmetric_codes.hpp>
#include <zeropoint/kernel/float/float_masked_softmax.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/pack_matmul.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>

// A row of queries or keys has one scale over all heads, a column of values one over all rows:
//
//     s[i][j] = float(sum over d of q[i][d] * k[j][d]) * k_scale[j]                           of a head
//     p[i][j] = rne(255 * 2^((s[i][j] - max over j of s[i][j]) * (q_scale[i] * (log2(e) / sqrt(depth)))))
//     y[i][c] = float(sum over j of p[i][j] * v[j][c]) * ((1 / float(sum over j of p[i][j])) * v_scale[c])
//
// With a mask the largest is that of the scores which it keeps, and the p[i][j] of others are 0, or 255 where a row keeps none.
// A key that is left out for all queries counts in no range, so that padding changes nothing: its row of values is 0.
//
// Sums are of integers, exact. Everything is packed once for all heads: in a matrix of 32-bit groups (four codes, or two
// int16) the keys of a panel are transposed, and the groups of a head are then a panel of its own.
//
// Where instructions multiply unsigned bytes, queries are staged 128 higher, where signed ones, probabilities 128 lower;
// the sums of the panel's columns times 128 take that off again, as their bias.

namespace zp {
inline namespace v0 {
namespace kernel {

/// Queries, keys and values, a row of each `pitch` floats behind the one before.
struct attention_rows {
    const float *queries, *keys, *values;
    std::ptrdiff_t pitch;
};

/// One call of integer_attention(): its plan and its scratch.
template <class Arch> class integer_attention_call {
    using plan_type = integer_attention_plan<Arch>;
    using format = typename plan_type::format;
    using value = typename plan_type::value;
    using ops = operations<Arch>;
    static constexpr int width = plan_type::width;
    static constexpr bool is_quads = plan_type::is_quads, is_signed = plan_type::is_signed;
    static constexpr float undefined = std::numeric_limits<float>::quiet_NaN();

    /// The score of a key that is left out: further below all others than any exponent reaches, and differences are finite.
    static constexpr float masked_score = -0x1p127f;

    const plan_type& plan_;
    attention_mask mask_;
    const float* keys_of_all_;  // null where all keys count
    std::byte* scratch_;

    bool counts(int row) const { return keys_of_all_ == nullptr || keys_of_all_[row] != 0; }

    template <class T> T* at(std::size_t place) const { return reinterpret_cast<T*>(scratch_ + place); }

    /// A row of queries or keys as codes, each head's padded to `length`. `flip` is 128 or 0.
    void stage(const float* x, float scale, std::uint8_t flip, value* to) const {
        const plan_type& p = plan_;
        if constexpr (is_quads) {
            if (p.length == p.depth) {
                symmetric_codes<Arch>(x, static_cast<std::size_t>(p.model), scale, flip, to);
                return;
            }
        }
        auto* codes = at<std::uint8_t>(p.codes);
        symmetric_codes<Arch>(x, static_cast<std::size_t>(p.model), scale, flip, codes);
        for (int head = 0; head != p.heads; ++head, codes += p.depth, to += p.length) {
            if constexpr (is_quads) std::memcpy(to, codes, static_cast<std::size_t>(p.depth));
            else ops::widen(reinterpret_cast<const std::int8_t*>(codes), p.depth, 0, to);
            std::fill(to + p.depth, to + p.length, value{0});
        }
    }

    /// bias = -128 * the sums of a panel's columns, or 0: what takes the offset of the other operand off.
    void put_bias(const value* panel, int length, bool is_offset, std::int32_t* bias) const {
        std::fill_n(bias, width, 0);
        if constexpr (is_quads) {
            if (!is_offset) return;
            window_runs runs;
            runs.length = length;
            const std::int32_t place = 0;
            alignas(64) std::int32_t sums[width];
            tile_kernels<Arch, format>[0](at<value>(plan_.flips), &place, runs,
                                          reinterpret_cast<const std::int8_t*>(panel), bias, sums);
            // The bytes are 128 where they are unsigned, and -128 where they are signed.
            for (int c = 0; c != width; ++c) bias[c] = -sums[c];
        }
    }

    /// A row of queries and keys, and what its values add to the magnitudes of columns. Gives whether the key is usable.
    bool quantize_row(const float* q, const float* k, const float* v, int row, value* key_row) const {
        const plan_type& p = plan_;
        const auto model = static_cast<std::size_t>(p.model);
        const float query_scale = symmetric_scale(largest_magnitude<Arch>(q, model));
        const float key_scale = symmetric_scale(largest_magnitude<Arch>(k, model));
        if (counts(row)) widen_magnitudes<Arch>(v, model, at<std::int32_t>(p.magnitudes));
        stage(q, query_scale, is_quads && !is_signed ? 128 : 0, at<value>(p.queries) + row * p.row_pitch);
        stage(k, key_scale, 0, key_row);
        const bool is_usable = key_scale <= largest_key_scale;
        at<float>(p.query_factors)[row] = query_scale;
        at<float>(p.key_scales)[row] = is_usable ? key_scale : 0.0f;
        return is_usable || !counts(row);
    }

    /// The staged keys of a panel, for all heads at once, and the bias of each.
    void pack_keys(int panel) const {
        const plan_type& p = plan_;
        const auto* rows = at<value>(p.key_rows);
        value* to = at<value>(p.keys) + panel * p.heads * p.key_panel;
        const int groups = p.length / format::depth;
        if constexpr (has_octets<Arch>) {
            for (int row = 0; row != width; ++row)
                for (int head = 0; head != p.heads; ++head)
                    for (int quad = 0; quad != groups; ++quad)
                        std::memcpy(to + head * p.key_panel + place_of_quad<Arch>(quad, groups, row),
                                    rows + row * p.row_pitch + head * p.length + 4 * quad, 4);
        } else {
            using transposing = std::conditional_t<ops::has_batches, Arch, portable>;
            transpose_matrix<std::int32_t, transposing>(
                reinterpret_cast<const std::int32_t*>(rows), static_cast<std::size_t>(p.row_pitch / format::depth),
                std::size_t{width}, static_cast<std::size_t>(p.heads) * static_cast<std::size_t>(groups),
                reinterpret_cast<std::int32_t*>(to), std::size_t{width});
        }
        for (int head = 0; head != p.heads; ++head)
            put_bias(to + head * p.key_panel, p.length, !is_signed,
                     at<std::int32_t>(p.key_bias) + (panel * p.heads + head) * width);
    }

    /// The codes of a column in `format::depth` rows side by side. `from` are those rows, or null for the last ones missing.
    static std::int32_t value_group(const float* const (&from)[4], int column, float inverse) {
        value codes[format::depth];
        std::int32_t bits;
        for (int i = 0; i != format::depth; ++i)
            codes[i] = from[i] == nullptr ? value{0} : static_cast<value>(symmetric_code(from[i][column], inverse));
        std::memcpy(&bits, codes, sizeof bits);
        return bits;
    }

    /// Values of rows [row, row + format::depth) into the panels of all heads.
    void pack_values(const float* v, std::ptrdiff_t pitch, int row, bool are_finite) const {
        const plan_type& p = plan_;
        const float* inverses = at<const float>(p.value_inverses);
        const float* from[4] = {};
        for (int i = 0; i != format::depth; ++i)
            if (row + i < p.rows && counts(row + i)) from[i] = v + (row + i) * pitch;
        const int index = row / format::depth, groups = p.row_length / format::depth;
        value* panel = at<value>(p.values);
        for (int head = 0; head != p.heads; ++head)
            for (int first = 0; first < p.depth; first += width, panel += p.value_panel) {
                const int count = std::min(width, p.depth - first), column = head * p.depth + first;
                const auto place = [&](int c) __attribute__((always_inline)) {
                    if constexpr (is_quads) return panel + place_of_quad<Arch>(index, groups, c);
                    else return panel + (std::ptrdiff_t{index} * width + c) * format::depth;
                };
                int c = 0;
                if constexpr (has_code_vectors<Arch> && !has_octets<Arch>) {
                    using floats = typename ops::real;
                    using ints = typename ops::int32;
                    constexpr int size = ops::lanes;
                    if (are_finite) {
                        for (; c + size <= count; c += size) {
                            const floats factor = floats::load_unaligned(inverses + column + c);
                            const auto code = [&](int i) __attribute__((always_inline)) {
                                if (from[i] == nullptr) return ints(0);
                                return ints(
                                    round_to_nearest(floats(floats::load_unaligned(from[i] + column + c) * factor)));
                            };
                            auto* to = reinterpret_cast<std::int32_t*>(place(c));
                            if constexpr (is_quads) {
                                xsimd::bitwise_cast<std::int32_t>(
                                    combine_interleaved<std::int8_t>(batch_quad<std::int32_t, typename ints::arch_type>{
                                        code(0), code(1), code(2), code(3)}))
                                    .store_unaligned(to);
                            } else {
                                const ints low(0xffff), first_code = code(0), second = code(1);
                                const ints pairs = std::endian::native == std::endian::little
                                                       ? (first_code & low) | (second << 16)
                                                       : (second & low) | (first_code << 16);
                                pairs.store_unaligned(to);
                            }
                        }
                    }
                }
                for (; c != width; ++c) {
                    const std::int32_t codes = c < count ? value_group(from, column + c, inverses[column + c]) : 0;
                    std::memcpy(place(c), &codes, sizeof codes);
                }
            }
    }

    /// The codes of rows of scores as the second product reads them, and what its sums are multiplied by. `factors` are
    /// those of differences between scores, NaN of queries that are undefined.
    void stage_probabilities(int count, const float* factors, value* to) const {
        const plan_type& p = plan_;
        const int rows = p.rows;
        const float* scores = at<const float>(p.scores);
        auto* row_factors = at<float>(p.row_factors);
        float usable[plan_type::block] = {};
        std::int32_t sums[plan_type::block];
        for (int row = 0; row != count; ++row) usable[row] = factors[row] >= 0 ? factors[row] : 0.0f;
        if constexpr (is_quads) {
            softmax_codes<Arch, is_signed>(scores, p.score_pitch, count, rows, usable, to, p.score_pitch, sums);
        } else {
            auto* codes = at<std::uint8_t>(p.codes);
            softmax_codes<Arch, false>(scores, p.score_pitch, count, rows, usable, codes, p.score_pitch, sums);
            for (int row = 0; row != count; ++row)
                ops::widen(codes + row * p.score_pitch, rows, 0, to + row * p.score_pitch);
        }
        for (int row = 0; row != count; ++row) {
            for (int j = rows; j < p.row_length; ++j) to[row * p.score_pitch + j] = 0;  // their values are 0 too
            row_factors[row] = factors[row] >= 0 ? 1.0f / static_cast<float>(sums[row]) : undefined;
        }
    }

public:
    integer_attention_call(const plan_type& plan, const attention_mask& mask, std::byte* scratch)
        : plan_(plan), mask_(mask), keys_of_all_(mask.keys_of_all(plan.rows)), scratch_(scratch) {}

    /// Codes and scales of all rows; all queries undefined where a key is.
    void quantize(const attention_rows& x) const {
        const plan_type& p = plan_;
        const int rows = p.rows;
        const auto model = static_cast<std::size_t>(p.model);
        auto* query_factors = at<float>(p.query_factors);
        auto* magnitudes = at<std::int32_t>(p.magnitudes);
        std::memset(at<value>(p.flips), is_quads ? 128 : 0,
                    static_cast<std::size_t>(std::max(p.length, p.row_length)) * sizeof(value));
        std::fill_n(magnitudes, p.model, 0);
        bool keys_are_usable = true;
        for (int panel = 0; panel != p.key_panels; ++panel) {
            value* key_row = at<value>(p.key_rows);
            for (int row = panel * width; row != (panel + 1) * width; ++row, key_row += p.row_pitch) {
                if (row < rows) {
                    keys_are_usable = quantize_row(x.queries + row * x.pitch, x.keys + row * x.pitch,
                                                   x.values + row * x.pitch, row, key_row) &&
                                      keys_are_usable;
                } else {
                    std::fill_n(key_row, p.heads * p.length, value{0});
                    at<float>(p.key_scales)[row] = 0;
                }
            }
            pack_keys(panel);
        }
        const float to_exponents = keys_are_usable ? 1.44269504f / std::sqrt(static_cast<float>(p.depth)) : undefined;
        for (int row = 0; row != rows; ++row) query_factors[row] *= to_exponents;

        auto* value_scales = at<float>(p.value_scales);
        auto* inverses = at<float>(p.value_inverses);
        const bool are_finite = symmetric_scales<Arch>(magnitudes, model, value_scales, inverses);
        for (int row = 0; row < rows; row += format::depth) pack_values(x.values, x.pitch, row, are_finite);
        for (int panel = 0; panel != p.heads * p.value_panels; ++panel)
            put_bias(at<value>(p.values) + panel * p.value_panel, p.row_length, is_signed,
                     at<std::int32_t>(p.value_bias) + panel * width);
    }

    /// y of one head, whose rows are `model` apart.
    void run_head(int head, float* y) const {
        using weight = typename format::weight;
        const plan_type& p = plan_;
        const int rows = p.rows;
        auto* scores = at<float>(p.scores);
        auto* probabilities = at<value>(p.probabilities);
        auto* offsets = at<std::int32_t>(p.offsets);
        for (int row = 0; row != plan_type::block; ++row) {
            offsets[row] = static_cast<std::int32_t>(row * p.row_pitch);
            offsets[plan_type::block + row] = static_cast<std::int32_t>(row * p.score_pitch);
        }
        window_runs over_depth, over_rows;
        over_depth.length = p.length;
        over_rows.length = p.row_length;
        const value* queries = at<const value>(p.queries) + head * p.length;
        for (int first = 0; first < rows; first += plan_type::block) {
            const int count = std::min(plan_type::block, rows - first);
            for (int panel = 0; panel != p.key_panels; ++panel) {
                const int index = panel * p.heads + head, column = panel * width;
                multiply_panel<Arch, format>(
                    queries + first * p.row_pitch, offsets, count, over_depth,
                    at<const weight>(p.keys) + index * p.key_panel, at<const std::int32_t>(p.key_bias) + index * width,
                    column, width, column_factors{at<const float>(p.key_scales)}, scores + column, p.score_pitch);
            }
            for (int row = 0; mask_.values != nullptr && row != count; ++row) {
                float* of_row = scores + row * p.score_pitch;
                mask_row<Arch>(of_row, mask_.row(head, first + row), static_cast<std::size_t>(rows), masked_score,
                               of_row);
            }
            stage_probabilities(count, at<const float>(p.query_factors) + first, probabilities);
            float* to = y + std::ptrdiff_t{first} * p.model;
            const row_and_column_factors epilogue{at<const float>(p.row_factors),
                                                  at<const float>(p.value_scales) + head * p.depth, to, p.model};
            for (int panel = 0; panel != p.value_panels; ++panel) {
                const int index = head * p.value_panels + panel, column = panel * width;
                multiply_panel<Arch, format>(probabilities, offsets + plan_type::block, count, over_rows,
                                             at<const weight>(p.values) + index * p.value_panel,
                                             at<const std::int32_t>(p.value_bias) + index * width, column,
                                             std::min(width, p.depth - column), epilogue, to + column, p.model);
            }
        }
    }
};

/// y[rows][model] = the mean of values by softmax of scaled scores, head by head, as the top of this file and
/// reference::integer_attention say; x.queries, x.keys and x.values are rows x model each. A query that is not finite makes its
/// row of y NaN, a key, or one whose scale is above largest_key_scale, all of y, a value its column, but for keys and values that
/// the mask leaves out for all queries. `plan` is for these rows; `scratch` has plan.bytes bytes, 64-byte aligned; those of
/// more rows are enough for fewer.
template <class Arch>
void integer_attention(const integer_attention_plan<Arch>& plan, const attention_rows& x, float* y, std::byte* scratch,
                       const attention_mask& mask = {}) noexcept {
    const integer_attention_call<Arch> call(plan, mask, scratch);
    call.quantize(x);
    for (int head = 0; head != plan.heads; ++head) call.run_head(head, y + head * plan.depth);
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
