// SPDX-License-Identifier: BSD-3-Clause
// Attention whose two products are of int8 codes that it quantizes itself: all heads, of a sequence to itself or to another one.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/attention/attention_extents.hpp>
#include <zeropoint/kernel/attention/attention_mask.hpp>
#include <zeropoint/kernel/attention/attention_plan.hpp>
#include <zeropoint/kernel/attention/softmax_codes.hpp>
#include <zeropoint/kernel/dynamic/symmetric_codes.hpp>
#include <zeropoint/kernel/float/float_masked_softmax.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/gemm/pack_matmul.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>

// A row of queries or keys has one scale over all heads, a column of values one over all keys:
//
//     s[i][j] = float(sum over d of q[i][d] * k[j][d]) * k_scale[j]                           of a head
//     p[i][j] = rne(255 * 2^((s[i][j] - max over j of s[i][j]) * (q_scale[i] * (log2(e) / sqrt(depth)))))
//                                                                 or log2(e) * factor, where there is one
//     y[i][c] = float(sum over j of p[i][j] * v[j][c]) * ((1 / float(sum over j of p[i][j])) * v_scale[c])
//
// With a mask the largest is that of the scores which it keeps, and the p[i][j] of others are 0, or 255 where a row keeps none.
// Keys that are left out for all queries are left where they are: no code is made of them, and they count in no range. Of a block
// of queries with masks of their own, keys in front of the first and behind the last that any of them sees are not multiplied.
//
// Sums are of integers, exact. Everything is packed once for all heads: in a matrix of 32-bit groups (four codes, or two
// int16) the keys of a panel are transposed, and the groups of a head are then a panel of its own.
//
// Where instructions multiply unsigned bytes, queries are staged 128 higher, where signed ones, probabilities 128 lower;
// the sums of the panel's columns times 128 take that off again, as their bias.

namespace zp::inline v0::kernel {

/// One call of integer_attention(): its plan and its scratch.
template <class Arch> class integer_attention_call {
    using plan_type = integer_attention_plan<Arch>;
    using format = typename plan_type::format;
    using value = typename plan_type::value;
    using ops = operations<Arch>;
    static constexpr int width = plan_type::width;
    static constexpr bool is_quads = plan_type::is_quads, is_signed = plan_type::is_signed;
    static constexpr float undefined = not_a_number;

    /// The score of a key that is left out: further below all others than any exponent reaches, and differences are finite.
    static constexpr float masked_score = -0x1p127f;

    const plan_type& plan_;
    const attention_extents& e_;
    attention_mask mask_;  // of scores: none where keys are left out for all queries, and nothing else is
    panel_range heads_;    // what is computed
    std::byte* scratch_;
    int columns_;  // keys that are not left out for all queries

    template <class T> T* at(std::size_t place) const { return reinterpret_cast<T*>(scratch_ + place); }

    /// Writes the numbers of those keys, and gives how many there are.
    int keep_keys(const float* counts) const {
        auto* kept = at<std::int32_t>(plan_.kept);
        int count = 0;
        for (int key = 0; key != e_.columns; ++key)
            if (counts == nullptr || counts[key] != 0) kept[count++] = key;
        return count;
    }

    /// A row of queries or keys as codes, each head's padded to `length`. `flip` is 128 or 0.
    void stage(const float* x, float scale, std::uint8_t flip, value* to) const {
        const plan_type& p = plan_;
        const auto count = static_cast<std::size_t>(heads_.end - heads_.begin) * static_cast<std::size_t>(e_.depth);
        x += std::ptrdiff_t{heads_.begin} * e_.depth;
        to += std::ptrdiff_t{heads_.begin} * p.length;
        if constexpr (is_quads) {
            if (p.length == e_.depth) {
                symmetric_codes<Arch>(x, count, scale, flip, to);
                return;
            }
        }
        auto* codes = at<std::uint8_t>(p.codes);
        symmetric_codes<Arch>(x, count, scale, flip, codes);
        for (int head = heads_.begin; head != heads_.end; ++head, codes += e_.depth, to += p.length) {
            if constexpr (is_quads) std::memcpy(to, codes, static_cast<std::size_t>(e_.depth));
            else ops::widen(reinterpret_cast<const std::int8_t*>(codes), e_.depth, 0, to);
            std::fill(to + e_.depth, to + p.length, value{0});
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

    /// The scale of a row of queries or keys.
    float scale_of(const float* row) const {
        return symmetric_scale(largest_magnitude<Arch>(row, static_cast<std::size_t>(e_.model())));
    }
    void stage_query(const float* q, int row) const {
        const float scale = scale_of(q);
        stage(q, scale, is_quads && !is_signed ? 128 : 0, at<value>(plan_.queries) + row * plan_.row_pitch);
        at<float>(plan_.query_factors)[row] = scale;
    }
    /// A row of a panel's keys; gives whether it is usable.
    bool stage_key(const float* k, int key, value* row) const {
        const float scale = scale_of(k);
        stage(k, scale, 0, row);
        const bool is_usable = scale <= largest_key_scale;
        at<float>(plan_.key_scales)[key] = is_usable ? scale : 0.0f;
        return is_usable;
    }
    /// Codes and scales of queries and keys, and the magnitudes of columns of values; gives whether all keys are usable. A query, a key
    /// and a value come in turn: where they lie side by side, memory is read from one end to the other.
    bool stage_rows(const attention_rows& x) const {
        const plan_type& p = plan_;
        const auto* kept = at<const std::int32_t>(p.kept);
        const std::ptrdiff_t column = std::ptrdiff_t{heads_.begin} * e_.value_depth;
        const auto values =
            static_cast<std::size_t>(heads_.end - heads_.begin) * static_cast<std::size_t>(e_.value_depth);
        auto* magnitudes = at<std::int32_t>(p.magnitudes) + column;
        std::fill_n(magnitudes, values, 0);
        bool are_usable = true;
        const int ends = std::max(e_.rows, plan_type::whole_of(columns_, width));
        for (int row = 0; row != ends; ++row) {
            if (row < e_.rows) stage_query(x.queries + row * x.query_pitch, row);
            if (row >= plan_type::whole_of(columns_, width)) continue;
            value* staged = at<value>(p.key_rows) + row % width * p.row_pitch;
            if (row < columns_) {
                are_usable = stage_key(x.keys + kept[row] * x.key_pitch, row, staged) && are_usable;
                widen_magnitudes<Arch>(x.values + kept[row] * x.value_pitch + column, values, magnitudes);
            } else {
                std::fill_n(staged + std::ptrdiff_t{heads_.begin} * p.length,
                            std::ptrdiff_t{heads_.end - heads_.begin} * p.length, value{0});
                at<float>(p.key_scales)[row] = 0;
            }
            if (row % width == width - 1) pack_keys(row / width);
        }
        return are_usable;
    }

    /// The staged keys of a panel, for all heads at once, and the bias of each head.
    void pack_keys(int panel) const {
        const plan_type& p = plan_;
        const int heads = heads_.end - heads_.begin, first = panel * e_.heads + heads_.begin;
        const auto* rows = at<value>(p.key_rows) + std::ptrdiff_t{heads_.begin} * p.length;
        value* to = at<value>(p.keys) + first * p.key_panel;
        const int groups = p.length / format::depth;
        if constexpr (has_octets<Arch>) {
            for (int row = 0; row != width; ++row)
                for (int head = 0; head != heads; ++head)
                    for (int quad = 0; quad != groups; ++quad)
                        std::memcpy(to + head * p.key_panel + place_of_quad<Arch>(quad, groups, row),
                                    rows + row * p.row_pitch + head * p.length + 4 * quad, 4);
        } else {
            using transposing = std::conditional_t<ops::has_batches, Arch, portable>;
            transpose_matrix<std::int32_t, transposing>(
                reinterpret_cast<const std::int32_t*>(rows), static_cast<std::size_t>(p.row_pitch / format::depth),
                std::size_t{width}, static_cast<std::size_t>(heads) * static_cast<std::size_t>(groups),
                reinterpret_cast<std::int32_t*>(to), std::size_t{width});
        }
        for (int head = 0; head != heads; ++head)
            put_bias(to + head * p.key_panel, p.length, !is_signed,
                     at<std::int32_t>(p.key_bias) + (first + head) * width);
    }

    /// The codes of a column in `format::depth` keys side by side. `from` are those rows, or null for the last ones missing.
    static std::int32_t value_group(const float* const (&from)[4], int column, float inverse) {
        value codes[format::depth];
        std::int32_t bits;
        for (int i = 0; i != format::depth; ++i)
            codes[i] = from[i] == nullptr ? value{0} : static_cast<value>(symmetric_code(from[i][column], inverse));
        std::memcpy(&bits, codes, sizeof bits);
        return bits;
    }

    /// Values of keys [key, key + format::depth) into the panels of all heads.
    void pack_values(const float* v, std::ptrdiff_t pitch, int key, bool are_finite) const {
        const plan_type& p = plan_;
        const float* inverses = at<const float>(p.value_inverses);
        const float* from[4] = {};
        for (int i = 0; i != format::depth; ++i)
            if (key + i < columns_) from[i] = v + at<const std::int32_t>(p.kept)[key + i] * pitch;
        const int index = key / format::depth, groups = plan_type::whole(columns_) / format::depth;
        value* panel = at<value>(p.values) + heads_.begin * p.value_panels * p.value_panel;
        for (int head = heads_.begin; head != heads_.end; ++head)
            for (int first = 0; first < e_.value_depth; first += width, panel += p.value_panel) {
                const int count = std::min(width, e_.value_depth - first), column = head * e_.value_depth + first;
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

    /// Values of all keys, with a scale a column, whose magnitudes stage_rows() has found.
    void stage_values(const attention_rows& x) const {
        const plan_type& p = plan_;
        const int column = heads_.begin * e_.value_depth;
        const auto count =
            static_cast<std::size_t>(heads_.end - heads_.begin) * static_cast<std::size_t>(e_.value_depth);
        const bool are_finite =
            symmetric_scales<Arch>(at<const std::int32_t>(p.magnitudes) + column, count,
                                   at<float>(p.value_scales) + column, at<float>(p.value_inverses) + column);
        for (int key = 0; key < columns_; key += format::depth) pack_values(x.values, x.value_pitch, key, are_finite);
        for (int panel = heads_.begin * p.value_panels; panel != heads_.end * p.value_panels; ++panel)
            put_bias(at<value>(p.values) + panel * p.value_panel, plan_type::whole(columns_), is_signed,
                     at<std::int32_t>(p.value_bias) + panel * width);
    }

    /// Which keys each query of a head sees.
    void find_seen_keys(int head) const {
        auto* seen = at<key_range>(plan_.seen);
        for (int row = 0; row != e_.rows; ++row)
            seen[row] = row != 0 && mask_.row_pitch == 0 ? seen[0] : seen_keys<Arch>(mask_.row(head, row), columns_);
    }
    /// Whole panels of keys that some of these queries see.
    key_range seen_by(int first, int count) const {
        if (mask_.values == nullptr) return {0, columns_};
        const auto* seen = at<const key_range>(plan_.seen) + first;
        key_range all = seen[0];
        for (int row = 1; row != count; ++row)
            all = {std::min(all.begin, seen[row].begin), std::max(all.end, seen[row].end)};
        return {all.begin / width * width, std::min(columns_, plan_type::whole_of(all.end, width))};
    }

    /// The codes of `count` rows of scores of so many keys as the second product reads them, and what its sums are multiplied by.
    /// `factors` are those of differences between scores, NaN of queries that are undefined.
    void stage_probabilities(int count, int columns, const float* factors, value* to) const {
        const plan_type& p = plan_;
        const float* scores = at<const float>(p.scores);
        auto* row_factors = at<float>(p.row_factors);
        float usable[softmax_rows] = {};
        std::int32_t sums[softmax_rows];
        for (int row = 0; row != count; ++row) usable[row] = factors[row] >= 0 ? factors[row] : 0.0f;
        if constexpr (is_quads) {
            softmax_codes<Arch, is_signed>(scores, p.score_pitch, count, columns, usable, to, p.score_pitch, sums);
        } else {
            auto* codes = at<std::uint8_t>(p.codes);
            softmax_codes<Arch, false>(scores, p.score_pitch, count, columns, usable, codes, p.score_pitch, sums);
            for (int row = 0; row != count; ++row)
                ops::widen(codes + row * p.score_pitch, columns, 0, to + row * p.score_pitch);
        }
        for (int row = 0; row != count; ++row) {
            for (int j = columns; j < plan_type::whole(columns); ++j)
                to[row * p.score_pitch + j] = 0;  // their values are 0 too
            row_factors[row] = factors[row] >= 0 ? 1.0f / static_cast<float>(sums[row]) : undefined;
        }
    }

    /// `count` queries from the first on: what they see of the keys to codes, and those times values.
    void run_block(int head, int first, int count, float* y) const {
        using weight = typename format::weight;
        const plan_type& p = plan_;
        const key_range seen = seen_by(first, count);
        const int columns = seen.end - seen.begin, values_length = plan_type::whole(columns);
        window_runs over_depth, over_keys;
        over_depth.length = p.length;
        over_keys.length = values_length;
        const auto* offsets = at<const std::int32_t>(p.offsets);
        auto* scores = at<float>(p.scores);
        for (int column = 0; column < columns; column += width) {
            const int key = seen.begin + column, index = key / width * e_.heads + head;
            multiply_panel<Arch, format>(at<const value>(p.queries) + first * p.row_pitch + head * p.length, offsets,
                                         count, over_depth, at<const weight>(p.keys) + index * p.key_panel,
                                         at<const std::int32_t>(p.key_bias) + index * width, column, width,
                                         column_factors{at<const float>(p.key_scales) + seen.begin}, scores + column,
                                         p.score_pitch);
        }
        for (int row = 0; mask_.values != nullptr && row != count; ++row) {
            float* of_row = scores + row * p.score_pitch;
            mask_row<Arch>(of_row, mask_.row(head, first + row) + seen.begin, static_cast<std::size_t>(columns),
                           masked_score, of_row);
        }
        auto* probabilities = at<value>(p.probabilities);
        stage_probabilities(count, columns, at<const float>(p.query_factors) + first, probabilities);
        const int model = e_.value_model();
        const row_and_column_factors epilogue{at<const float>(p.row_factors),
                                              at<const float>(p.value_scales) + head * e_.value_depth, y, model};
        for (int panel = 0; panel != p.value_panels; ++panel) {
            const int index = head * p.value_panels + panel, column = panel * width;
            const auto* values =
                at<const weight>(p.values) + index * p.value_panel + std::ptrdiff_t{seen.begin} * width;
            const auto* bias = at<const std::int32_t>(p.value_bias) + index * width;
            alignas(64) std::int32_t of_seen[width];
            if (is_signed && columns != columns_) {  // the offset of what is multiplied alone
                put_bias(reinterpret_cast<const value*>(values), values_length, true, of_seen);
                bias = of_seen;
            }
            multiply_panel<Arch, format>(probabilities, offsets + plan_type::block, count, over_keys, values, bias,
                                         column, std::min(width, e_.value_depth - column), epilogue, y + column, model);
        }
    }

public:
    integer_attention_call(const plan_type& plan, const attention_mask& mask, panel_range heads, std::byte* scratch)
        : plan_(plan), e_(plan.extents), mask_(mask), heads_{heads.begin, heads.end_of(e_.heads)}, scratch_(scratch) {
        const float* of_all = mask.keys_of_all(e_.columns);
        columns_ = keep_keys(of_all);
        if (of_all != nullptr) mask_ = {};
    }

    /// Codes and scales of all rows; all queries undefined where a key is.
    void quantize(const attention_rows& x) const {
        const plan_type& p = plan_;
        std::memset(at<value>(p.flips), is_quads ? 128 : 0,
                    static_cast<std::size_t>(std::max(p.length, plan_type::whole(e_.columns))) * sizeof(value));
        for (int row = 0; row != plan_type::block; ++row) {
            at<std::int32_t>(p.offsets)[row] = static_cast<std::int32_t>(row * p.row_pitch);
            at<std::int32_t>(p.offsets)[plan_type::block + row] = static_cast<std::int32_t>(row * p.score_pitch);
        }
        constexpr float log2_of_e = 1.44269504f;
        const bool are_usable = stage_rows(x);
        const float to_exponents = !are_usable      ? undefined
                                   : e_.factor == 0 ? log2_of_e / std::sqrt(static_cast<float>(e_.depth))
                                                    : log2_of_e * e_.factor;
        for (int row = 0; row != e_.rows; ++row) at<float>(p.query_factors)[row] *= to_exponents;
        stage_values(x);
        if (mask_.values != nullptr && mask_.head_pitch == 0) find_seen_keys(0);
    }

    /// y of all queries by one head, whose rows are value_model() apart.
    void run_head(int head, float* y) const {
        if (mask_.values != nullptr && mask_.head_pitch != 0) find_seen_keys(head);
        for (int first = 0; first < e_.rows; first += plan_type::block)
            run_block(head, first, std::min(plan_type::block, e_.rows - first),
                      y + std::ptrdiff_t{first} * e_.value_model());
    }
};

/// y[rows][value_model] = the mean of values by softmax of scaled scores, head by head, as the top of this file and
/// reference::integer_attention say; x.queries are rows x model, x.keys columns x model, x.values columns x value_model. A query
/// that is not finite makes its row of y NaN, a key, or one whose scale is above largest_key_scale, all of y, a value its column,
/// but for keys and values that the mask leaves out for all queries. `plan` is for these extents; `scratch` has plan.bytes bytes,
/// 64-byte aligned; those of more rows and columns are enough for fewer. Of some `heads` only their columns of y are written.
template <class Arch>
void integer_attention(const integer_attention_plan<Arch>& plan, const attention_rows& x, float* y, std::byte* scratch,
                       const attention_mask& mask = {}, panel_range heads = {}) noexcept {
    const integer_attention_call<Arch> call(plan, mask, heads, scratch);
    call.quantize(x);
    for (int head = heads.begin; head != heads.end_of(plan.extents.heads); ++head)
        call.run_head(head, y + head * plan.extents.value_depth);
}

}  // namespace zp::inline v0::kernel
