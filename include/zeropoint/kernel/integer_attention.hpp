// Attention whose two products are of int8 codes that it quantizes itself: all heads over as many rows as there are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/dynamic_linear.hpp>
#include <zeropoint/kernel/float_rows.hpp>
#include <zeropoint/kernel/gemm.hpp>
#include <zeropoint/kernel/layout.hpp>
#include <zeropoint/kernel/matmul.hpp>
#include <zeropoint/kernel/softmax_codes.hpp>
#include <zeropoint/kernel/staging.hpp>
#include <zeropoint/kernel/symmetric_codes.hpp>

// A row of queries or keys has one scale over all heads, a column of values one over all rows:
//
//     s[i][j] = float(sum over d of q[i][d] * k[j][d]) * k_scale[j]                           of a head
//     p[i][j] = rne(255 * 2^((s[i][j] - max over j of s[i][j]) * (q_scale[i] * (log2(e) / sqrt(depth)))))
//     y[i][c] = float(sum over j of p[i][j] * v[j][c]) * ((1 / float(sum over j of p[i][j])) * v_scale[c])
//
// Sums are of integers, exact. Everything is packed once for all heads: in a matrix of 32-bit groups (four codes, or two
// int16) the keys of a panel are transposed, and the groups of a head are then a panel of its own.
//
// Where instructions multiply unsigned bytes, queries are staged 128 higher, where signed ones, probabilities 128 lower;
// the sums of the panel's columns times 128 take that off again, as their bias.

namespace zp {
inline namespace v0 {
namespace kernel {

/// The largest depth of a head, and the most rows: 255 * 127 times either is an int32.
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
    static constexpr int block = 32;  ///< rows of scores that are in memory together
    static constexpr std::ptrdiff_t size = sizeof(value);

    int rows, heads, depth, model;
    int length, row_length;                 ///< the depth and the rows, made even or a multiple of 4
    int key_panels, value_panels;           ///< of all keys; of the values of a head
    std::ptrdiff_t row_pitch, score_pitch;  ///< from a row of staged codes to the next; of scores, or their codes
    std::ptrdiff_t key_panel, value_panel;  ///< values of one panel, of one head
    std::size_t queries, key_rows, keys, values, scores, probabilities;
    std::size_t codes, key_bias, value_bias, flips, zeros, offsets;
    std::size_t query_factors, key_scales, value_scales, value_inverses, magnitudes, ranges, bytes;

    constexpr integer_attention_plan(int most_rows, int head_count, int head_depth)
        : rows(most_rows),
          heads(head_count),
          depth(head_depth),
          model(head_count * head_depth),
          length(whole(head_depth, format::depth)),
          row_length(whole(most_rows, format::depth)),
          key_panels((most_rows + width - 1) / width),
          value_panels((head_depth + width - 1) / width),
          row_pitch(spread(std::ptrdiff_t{head_count} * length)),
          score_pitch(spread(whole(most_rows, std::max(width, softmax_step<Arch>)))),
          key_panel(std::ptrdiff_t{length} * width),
          value_panel(std::ptrdiff_t{row_length} * width) {
        std::size_t end = 0;
        const auto take = [&](std::ptrdiff_t count, std::size_t element) {
            const std::size_t begin = end;
            end += align_up(static_cast<std::size_t>(count) * element);
            return begin;
        };
        constexpr std::size_t code = sizeof(value), number = 4;
        queries = take(rows * row_pitch + band_slack, code);
        key_rows = take(width * row_pitch, code);
        keys = take(key_panels * heads * key_panel, code);
        values = take(heads * value_panels * value_panel, code);
        scores = take(block * score_pitch, number);
        probabilities = take(block * score_pitch + band_slack, code);
        codes = take(std::max<std::ptrdiff_t>(model, score_pitch), 1);
        key_bias = take(key_panels * heads * width, number);
        value_bias = take(heads * value_panels * width, number);
        flips = take(std::max(length, row_length) + band_slack, code);
        zeros = take(std::max(model, width), number);
        offsets = take(2 * block, number);
        query_factors = take(rows, number);
        key_scales = take(key_panels * width, number);
        value_scales = take(model, number);
        value_inverses = take(model, number);
        magnitudes = take(model, number);
        ranges = take(block, sizeof(dynamic_range));
        bytes = end;
    }

private:
    static constexpr int whole(int count, int of) { return (count + of - 1) / of * of; }
    /// Rows of a tile at a multiple of 1024 bytes would share the sets of the first-level cache.
    static constexpr std::ptrdiff_t spread(std::ptrdiff_t count) {
        return count + (count * size % 1024 == 0 ? 64 / size : 0);
    }
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

/// One call of integer_attention(): its plan and its scratch.
template <class Arch> class integer_attention_call {
    using plan_type = integer_attention_plan<Arch>;
    using format = typename plan_type::format;
    using value = typename plan_type::value;
    using ops = operations<Arch>;
    static constexpr int width = plan_type::width;
    static constexpr bool is_quads = plan_type::is_quads, is_signed = plan_type::is_signed;
    static constexpr float undefined = std::numeric_limits<float>::quiet_NaN();

    const plan_type& plan_;
    std::byte* scratch_;

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
            transpose_matrix<std::int32_t, transposing>(reinterpret_cast<const std::int32_t*>(rows),
                                                        static_cast<std::size_t>(p.row_pitch / format::depth),
                                                        std::size_t{width}, static_cast<std::size_t>(p.heads * groups),
                                                        reinterpret_cast<std::int32_t*>(to), std::size_t{width});
        }
        for (int head = 0; head != p.heads; ++head)
            put_bias(to + head * p.key_panel, p.length, !is_signed,
                     at<std::int32_t>(p.key_bias) + (panel * p.heads + head) * width);
    }

    /// The codes of a column in `format::depth` rows side by side. `from` are those rows, or null for the last ones missing.
    static std::int32_t value_group(const float* const (&from)[4], int column, float inverse) {
        value codes[format::depth];
        std::int32_t group;
        for (int i = 0; i != format::depth; ++i)
            codes[i] = from[i] == nullptr ? value{0} : static_cast<value>(symmetric_code(from[i][column], inverse));
        std::memcpy(&group, codes, sizeof group);
        return group;
    }

    /// Values of rows [row, row + format::depth) into the panels of all heads.
    void pack_values(const float* v, std::ptrdiff_t pitch, int rows, int row, bool are_finite) const {
        const plan_type& p = plan_;
        const float* inverses = at<const float>(p.value_inverses);
        const float* from[4] = {};
        for (int i = 0; i != format::depth; ++i) from[i] = row + i < rows ? v + (row + i) * pitch : nullptr;
        const int group = row / format::depth, groups = p.row_length / format::depth;
        value* panel = at<value>(p.values);
        for (int head = 0; head != p.heads; ++head)
            for (int first = 0; first < p.depth; first += width, panel += p.value_panel) {
                const int count = std::min(width, p.depth - first), column = head * p.depth + first;
                const auto place = [&](int c) __attribute__((always_inline)) {
                    if constexpr (is_quads) return panel + place_of_quad<Arch>(group, groups, c);
                    else return panel + (std::ptrdiff_t{group} * width + c) * format::depth;
                };
                int c = 0;
                if constexpr (has_code_vectors<Arch> && !has_octets<Arch>) {
                    using floats = typename ops::real;
                    using ints = typename ops::int32;
                    constexpr int size = ops::lanes;
                    if (are_finite && from[format::depth - 1] != nullptr) {
                        for (; c + size <= count; c += size) {
                            const floats factor = floats::load_unaligned(inverses + column + c);
                            const auto code = [&](int i) __attribute__((always_inline)) {
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

    /// The codes of a row of scores as the second product reads them, and what its sums are multiplied by. `factor` is that of
    /// differences between scores; NaN of a query that is undefined.
    float stage_probabilities(const float* scores, int rows, float factor, value* to) const {
        const bool is_defined = factor >= 0;
        if (!is_defined) factor = 0;
        const float largest = largest_of_row<Arch>(scores, static_cast<std::size_t>(rows));
        std::int32_t sum = 0;
        if constexpr (is_quads) {
            sum = softmax_codes<Arch, is_signed>(scores, rows, largest, factor, to);
        } else {
            auto* codes = at<std::uint8_t>(plan_.codes);
            sum = softmax_codes<Arch, false>(scores, rows, largest, factor, codes);
            ops::widen(codes, rows, 0, to);
        }
        for (int j = rows; j < plan_.row_length; ++j) to[j] = 0;  // their values are 0 too
        return is_defined ? 1.0f / static_cast<float>(sum) : undefined;
    }

public:
    integer_attention_call(const plan_type& plan, std::byte* scratch) : plan_(plan), scratch_(scratch) {}

    /// Codes and scales of all rows; undefined queries where a key is.
    void quantize(const float* x, int rows) const {
        const plan_type& p = plan_;
        const std::ptrdiff_t pitch = 3 * std::ptrdiff_t{p.model};
        const auto model = static_cast<std::size_t>(p.model);
        auto* query_factors = at<float>(p.query_factors);
        auto* key_scales = at<float>(p.key_scales);
        auto* magnitudes = at<std::int32_t>(p.magnitudes);
        std::memset(at<value>(p.flips), is_quads ? 128 : 0,
                    (static_cast<std::size_t>(std::max(p.length, p.row_length))) * sizeof(value));
        std::fill_n(magnitudes, p.model, 0);
        bool keys_are_defined = true;
        for (int panel = 0; panel != p.key_panels; ++panel) {
            for (int row = 0; row != width; ++row) {
                const int at_row = panel * width + row;
                value* key_row = at<value>(p.key_rows) + row * p.row_pitch;
                if (at_row >= rows) {
                    std::fill_n(key_row, p.heads * p.length, value{0});
                    key_scales[at_row] = 0;
                    continue;
                }
                const float* q = x + at_row * pitch;
                const float* k = q + p.model;
                query_factors[at_row] = symmetric_scale(largest_magnitude<Arch>(q, model));
                stage(q, query_factors[at_row], is_quads && !is_signed ? 128 : 0,
                      at<value>(p.queries) + at_row * p.row_pitch);
                const float scale = symmetric_scale(largest_magnitude<Arch>(k, model));
                stage(k, scale, 0, key_row);
                const bool is_defined = scale <= largest_key_scale;
                key_scales[at_row] = is_defined ? scale : 0.0f;
                keys_are_defined = keys_are_defined && is_defined;
                widen_magnitudes<Arch>(k + p.model, model, magnitudes);
            }
            pack_keys(panel);
        }
        const float to_exponents = keys_are_defined ? 1.44269504f / std::sqrt(static_cast<float>(p.depth)) : undefined;
        for (int row = 0; row != rows; ++row) query_factors[row] *= to_exponents;

        auto* value_scales = at<float>(p.value_scales);
        auto* inverses = at<float>(p.value_inverses);
        const bool are_finite = symmetric_scales<Arch>(magnitudes, model, value_scales, inverses);
        for (int row = 0; row < rows; row += format::depth) pack_values(x + 2 * p.model, pitch, rows, row, are_finite);
        for (int panel = 0; panel != p.heads * p.value_panels; ++panel)
            put_bias(at<value>(p.values) + panel * p.value_panel, p.row_length, is_signed,
                     at<std::int32_t>(p.value_bias) + panel * width);
    }

    /// y of one head, whose rows are `model` apart.
    void run_head(int head, int rows, float* y) const {
        using weight = typename format::weight;
        const plan_type& p = plan_;
        auto* scores = at<float>(p.scores);
        auto* probabilities = at<value>(p.probabilities);
        auto* ranges = at<dynamic_range>(p.ranges);
        auto* offsets = at<std::int32_t>(p.offsets);
        for (int row = 0; row != plan_type::block; ++row) {
            offsets[row] = static_cast<std::int32_t>(row * p.row_pitch);
            offsets[plan_type::block + row] = static_cast<std::int32_t>(row * p.score_pitch);
        }
        const auto* zeros = at<const std::byte>(p.zeros);
        const dynamic_to_float common{at<const float>(p.value_scales) + head * p.depth,
                                      reinterpret_cast<const std::int32_t*>(zeros),
                                      reinterpret_cast<const float*>(zeros),
                                      {}};
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
            for (int row = 0; row != count; ++row)
                ranges[row] = {stage_probabilities(scores + row * p.score_pitch, rows,
                                                   at<const float>(p.query_factors)[first + row],
                                                   probabilities + row * p.score_pitch),
                               0};
            float* to = y + std::ptrdiff_t{first} * p.model;
            const dynamic_rows_to_float<> epilogue{common, ranges, to, p.model, {}};
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

/// y[rows][model] = the mean of values by softmax of scaled scores, head by head, for x[rows][3 * model] of queries, keys and
/// values, as the top of this file and reference::integer_attention say. A query that is not finite makes its row of y NaN,
/// a key, or one whose scale is above largest_key_scale, all of y, a value its column. `plan` is for these rows; `scratch` has
/// plan.bytes bytes, 64-byte aligned; those of more rows are enough for fewer.
template <class Arch>
void integer_attention(const integer_attention_plan<Arch>& plan, const float* x, float* y,
                       std::byte* scratch) noexcept {
    const integer_attention_call<Arch> call(plan, scratch);
    std::memset(scratch + plan.zeros, 0, static_cast<std::size_t>(std::max(plan.model, plan.width)) * sizeof(float));
    call.quantize(x, plan.rows);
    for (int head = 0; head != plan.heads; ++head) call.run_head(head, plan.rows, y + head * plan.depth);
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
