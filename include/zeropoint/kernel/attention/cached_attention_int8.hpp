// SPDX-License-Identifier: BSD-3-Clause
// Attention of one place of a sequence to itself and those before it, whose keys and values are kept in 8 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/attention/attention_plan.hpp>
#include <zeropoint/kernel/attention/cached_attention.hpp>
#include <zeropoint/kernel/dynamic/symmetric_codes.hpp>
#include <zeropoint/kernel/float/reproducible_rows.hpp>
#include <zeropoint/kernel/float/rotary.hpp>
#include <zeropoint/kernel/gemm/bands.hpp>
#include <zeropoint/kernel/gemm/gemm.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// A key and a value of a place and head of keys have symmetric codes of 8 bits with a scale each, a head of queries codes of 16 with one:
//
//     s[t] = float(sum over d of q[d] * k[t][d]) * ((q_scale * (1 / sqrt(depth))) * k_scale[t])
//     p[t] = exp(s[t] - max over t of s[t])
//     w[t] = p[t] * v_scale[t],  b_scale = max over t of a block of w[t] / 32767,  c[t] = rne(w[t] * (1 / b_scale))
//     y[d] = ((0 + float(sum over t of block 0 of c[t] * v[t][d]) * b_scale of 0) + ... of block 1) * (1 / sum over t of p[t])
//
// Places are counted by where they are kept, and a block is 512 of them: sums of integers are exact in 32 bits. Both products are of pairs
// of words and bytes, which every architecture multiplies; the numbers of a pair lie 16 places, or half of the depth, apart, so that
// vectors of codes need no shuffles. Weights of probabilities have 16 bits because 8 would leave out what is below a 510th of the
// largest: behind thousands of places that can be most of the sum.

namespace zp::inline v0::kernel {

/// Where keys and values of 8 bits lie, panels as products read them, and the parts of scratch; for any architecture.
struct int8_cache {
    static constexpr int group = 32, half_group = group / 2;  ///< places that lie together
    static constexpr int block = 512;                         ///< places of a sum: 512 * 32767 * 127 is an int32
    static constexpr int widest = 32;                         ///< channels of a panel, or fewer

    cached_attention_extents extents;
    int half;                               ///< of the depth, rounded up
    int places;                             ///< that there is room for
    int blocks;                             ///< of places
    float query_codes;                      ///< the largest code of a query
    std::ptrdiff_t key_bytes, value_bytes;  ///< of a head of keys
    std::size_t scores_at, codes_at, query_codes_at, factors_at, row_factors_at, sums_at, offsets_at, scratch_bytes;

    constexpr explicit int8_cache(const cached_attention_extents& e)
        : extents(e),
          half((e.depth + 1) / 2),
          places(whole_of(e.context, group)),
          blocks(whole_of(e.context, block) / block),
          query_codes(static_cast<float>(std::min(32767, 0x7fffffff / (127 * 2 * std::max(half, 1))))),
          key_bytes(std::ptrdiff_t{places} * 2 * half),
          value_bytes(std::ptrdiff_t{places} * whole_of(e.depth, widest)) {
        std::size_t end = align_up(sizeof(float) * static_cast<std::size_t>(2 * half));
        const auto take = [&end](int count, std::size_t size) {
            const std::size_t begin = end;
            end += align_up(static_cast<std::size_t>(count) * size);
            return begin;
        };
        scores_at = take(e.together() * places, sizeof(float));
        codes_at = take(e.together() * places + int{band_slack}, sizeof(std::int16_t));
        query_codes_at = take(e.together() * 2 * half + int{band_slack}, sizeof(std::int16_t));
        factors_at = take(e.together() * blocks, sizeof(float));
        row_factors_at = take(e.together(), sizeof(float));
        sums_at = take(e.together(), sizeof(float));
        offsets_at = take(2 * e.together(), sizeof(std::int32_t));
        scratch_bytes = end;
    }
    constexpr int all_key_bytes() const { return extents.key_heads * static_cast<int>(key_bytes); }
    constexpr int all_value_bytes() const { return extents.key_heads * static_cast<int>(value_bytes); }
    /// Those of keys, then those of values.
    constexpr int scales() const { return 2 * extents.key_heads * places; }

    static constexpr int whole_of(int count, int of) { return (count + of - 1) / of * of; }
};

/// The architecture whose products the cache takes: none of those with wider panels.
template <class Arch>
using int8_cache_architecture = std::conditional_t<panel_width<Arch> <= int8_cache::widest, Arch, portable>;

/// to[2 * j] and to[2 * j + 1] = rne(first[j] * (1 / scale)) and the same of `second`; 0 where the scale is NaN.
template <class Arch>
void pair_codes(const float* first, const float* second, int count, float scale, std::int16_t* to) noexcept {
    if (!(scale > 0)) {
        std::fill_n(to, 2 * count, std::int16_t{0});
        return;
    }
    const float inverse = 1.0f / scale;
    int j = 0;
    if constexpr (has_code_vectors<Arch>) {
        using floats = typename operations<Arch>::real;
        using ints = typename operations<Arch>::int32;
        constexpr int size = operations<Arch>::lanes;
        const floats factor(inverse);
        const ints low(0xffff);
        for (; j + size <= count; j += size) {
            const ints a = round_to_nearest(floats(floats::load_unaligned(first + j) * factor)),
                       b = round_to_nearest(floats(floats::load_unaligned(second + j) * factor));
            const ints pairs =
                std::endian::native == std::endian::little ? ints((a & low) | (b << 16)) : ints((b & low) | (a << 16));
            pairs.store_unaligned(reinterpret_cast<std::int32_t*>(to + 2 * j));
        }
    }
    for (; j != count; ++j) {
        to[2 * j] = static_cast<std::int16_t>(symmetric_code(first[j], inverse));
        to[2 * j + 1] = static_cast<std::int16_t>(symmetric_code(second[j], inverse));
    }
}

/// x[i] = x[i] * factors[i], and the largest_magnitude() of those.
template <class Arch> std::int32_t multiply_row(float* x, const float* factors, std::size_t count) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            store_number(Number(load_number<Number>(x + i) * load_number<Number>(factors + i)), x + i);
        });
    return largest_magnitude<Arch>(x, count);
}

/// y[row][c] += float(sum) * of_row[row], where row 0 begins at `output` and rows lie `pitch` apart.
struct add_by_row_factors {
    const float *of_row = nullptr, *output = nullptr;
    std::ptrdiff_t pitch = 0;

    /// Sums to their place in the output, as finish_rows() says.
    template <class Arch>
    void finish_tile(const std::int32_t* sums, int rows, int, int columns, float* y,
                     std::ptrdiff_t y_pitch) const noexcept {
        const float* factor = of_row + (y - output) / pitch;
        for (int row = 0; row != rows; ++row, sums += panel_width<Arch>, y += y_pitch)
            for_each_number<Arch>(
                static_cast<std::size_t>(columns), [&](std::size_t c, auto number) __attribute__((always_inline)) {
                    using Number = decltype(number);
                    const Number sum = [&] {
                        if constexpr (std::is_same_v<Number, float>) return static_cast<float>(sums[c]);
                        else
                            return xsimd::to_float(
                                xsimd::batch<std::int32_t, typename Number::arch_type>::load_unaligned(sums + c));
                    }();
                    store_number(Number(load_number<Number>(y + c) + rounded(Number(sum * Number(factor[row])))),
                                 y + c);
                });
    }
};

/// One call of cached_attention_int8(), and its scratch.
template <class Arch> class int8_cache_call {
    using format = widened_pairs;
    static constexpr int width = panel_width<Arch>, group = int8_cache::group, half_group = int8_cache::half_group;
    static_assert(int8_cache::widest % width == 0, "int8_cache: panels of a power of two of channels, 32 or fewer");
    alignas(64) static constexpr std::int32_t no_bias[width] = {};

    const int8_cache& cache_;
    const cached_attention_extents& e_;
    std::int8_t *keys_, *values_;
    float* scales_;
    std::byte* scratch_;
    const sine_and_cosine* turns_;
    int slot_, count_;  // where this place is kept; places that it sees

    template <class T> T* at(std::size_t place) const { return reinterpret_cast<T*>(scratch_ + place); }
    float* key_scales(int head) const { return scales_ + std::ptrdiff_t{head} * cache_.places; }
    float* value_scales(int head) const { return key_scales(e_.key_heads + head); }

    void turn(const float* x, float* y) const {
        if (turns_ == nullptr) std::copy_n(x, e_.depth, y);
        else rotate_halves(x, e_.depth, turns_, y);
    }
    /// The codes of a head as bytes, and their scale.
    float quantize(const float* x, std::int8_t* codes) const {
        const auto count = static_cast<std::size_t>(e_.depth);
        const float scale = symmetric_scale(largest_magnitude<Arch>(x, count));
        symmetric_codes<Arch>(x, count, scale, 0, reinterpret_cast<std::uint8_t*>(codes));
        return scale;
    }
    void keep(int head, const float* k, const float* v) const {
        auto* turned = at<float>(0);
        auto* codes = at<std::int8_t>(cache_.query_codes_at);  // those of queries come later
        turn(k, turned);
        key_scales(head)[slot_] = quantize(turned, codes);
        std::int8_t* key =
            keys_ + head * cache_.key_bytes + (std::ptrdiff_t{slot_ / width * width} * cache_.half + slot_ % width) * 2;
        for (int d = 0; d != e_.depth; ++d)
            key[std::ptrdiff_t{d % cache_.half} * (2 * width) + d / cache_.half] = codes[d];
        value_scales(head)[slot_] = quantize(v, codes);
        const int in_group = slot_ % group, pair = slot_ / group * half_group + in_group % half_group;
        std::int8_t* value =
            values_ + head * cache_.value_bytes + std::ptrdiff_t{pair} * (2 * width) + in_group / half_group;
        for (int d = 0; d != e_.depth; ++d)
            value[std::ptrdiff_t{d / width * width} * cache_.places + d % width * 2] = codes[d];
    }
    /// Scores of all queries that share a head of keys.
    void find_scores(int head, const float* q) const {
        const auto depth = static_cast<std::size_t>(e_.depth);
        const int length = 2 * cache_.half;
        const float factor = 1.0f / std::sqrt(static_cast<float>(e_.depth));
        auto* turned = at<float>(0);
        auto* codes = at<std::int16_t>(cache_.query_codes_at);
        auto* row_factors = at<float>(cache_.row_factors_at);
        turned[length - 1] = 0;  // of an odd depth there is no last number
        for (int h = 0; h != e_.together(); ++h) {
            turn(q + std::ptrdiff_t{h} * e_.depth, turned);
            const float scale = symmetric_scale(largest_magnitude<Arch>(turned, depth), cache_.query_codes);
            pair_codes<Arch>(turned, turned + cache_.half, cache_.half, scale, codes + h * length);
            row_factors[h] = scale * factor;
        }
        window_runs runs;
        runs.length = length;
        auto* scores = at<float>(cache_.scores_at);
        const row_and_column_factors epilogue{row_factors, key_scales(head), scores, cache_.places};
        for (int first = 0; first < count_; first += width)
            multiply_panel<Arch, format>(codes, at<std::int32_t>(cache_.offsets_at), e_.together(), runs,
                                         keys_ + head * cache_.key_bytes + std::ptrdiff_t{first} * length, no_bias,
                                         first, width, epilogue, scores + first, cache_.places);
    }
    /// Scores to codes of what values are multiplied by, and the factors of those.
    void find_weights(int head) const {
        const auto count = static_cast<std::size_t>(count_);
        const int padded = int8_cache::whole_of(count_, group);
        for (int h = 0; h != e_.together(); ++h) {
            float* row = at<float>(cache_.scores_at) + std::ptrdiff_t{h} * cache_.places;
            auto* codes = at<std::int16_t>(cache_.codes_at) + std::ptrdiff_t{h} * cache_.places;
            at<float>(cache_.sums_at)[h] = exponentials_row<Arch>(row, count, largest_of_row<Arch>(row, count));
            std::fill(row + count_, row + padded, 0.0f);
            for (int first = 0, b = 0; first < padded; first += int8_cache::block, ++b) {
                const int places = std::min(int8_cache::block, padded - first);
                const float scale = symmetric_scale(
                    multiply_row<Arch>(row + first, value_scales(head) + first, static_cast<std::size_t>(places)),
                    32767.0f);
                at<float>(cache_.factors_at)[b * e_.together() + h] = scale;
                for (int i = first; i != first + places; i += group)
                    pair_codes<Arch>(row + i, row + i + half_group, half_group, scale, codes + i);
            }
        }
    }
    void add_values(int head, float* y) const {
        const int padded = int8_cache::whole_of(count_, group);
        std::fill_n(y, std::ptrdiff_t{e_.together()} * e_.depth, 0.0f);
        for (int column = 0; column < e_.depth; column += width)
            for (int first = 0, b = 0; first < padded; first += int8_cache::block, ++b) {
                window_runs runs;
                runs.length = std::min(int8_cache::block, padded - first);
                const add_by_row_factors epilogue{at<float>(cache_.factors_at) + std::ptrdiff_t{b} * e_.together(), y,
                                                  e_.depth};
                multiply_panel<Arch, format>(
                    at<std::int16_t>(cache_.codes_at) + first, at<std::int32_t>(cache_.offsets_at) + e_.together(),
                    e_.together(), runs,
                    values_ + head * cache_.value_bytes +
                        (std::ptrdiff_t{column} * cache_.places + std::ptrdiff_t{first} * width),
                    no_bias, column, std::min(width, e_.depth - column), epilogue, y + column, e_.depth);
            }
        for (int h = 0; h != e_.together(); ++h)
            scale_row<Arch>(y + std::ptrdiff_t{h} * e_.depth, static_cast<std::size_t>(e_.depth),
                            1.0f / at<float>(cache_.sums_at)[h]);
    }

public:
    int8_cache_call(const int8_cache& cache, std::int8_t* keys, std::int8_t* values, float* scales, std::byte* scratch,
                    int place, const sine_and_cosine* turns)
        : cache_(cache),
          e_(cache.extents),
          keys_(keys),
          values_(values),
          scales_(scales),
          scratch_(scratch),
          turns_(turns),
          slot_(place % e_.context),
          count_(std::min(place, e_.context - 1) + 1) {
        auto* offsets = at<std::int32_t>(cache.offsets_at);
        for (int h = 0; h != e_.together(); ++h) {
            offsets[h] = h * 2 * cache.half;
            offsets[e_.together() + h] = h * cache.places;
        }
    }
    void run_head(int head, const float* q, const float* k, const float* v, float* y) const {
        const std::ptrdiff_t queries = std::ptrdiff_t{head} * e_.together() * e_.depth,
                             keys = std::ptrdiff_t{head} * e_.depth;
        keep(head, k + keys, v + keys);
        find_scores(head, q + queries);
        find_weights(head);
        add_values(head, y + queries);
    }
};

/// What cached_attention() does, with keys and values that are kept as codes, as the top of this file says: cache.all_key_bytes() and
/// all_value_bytes() of them and cache.scales() floats, all zeros before the first place. Sums of integers are exact and those of floats
/// run in one order: the same bits on every architecture. A query that is NaN or infinite makes its head's row NaN, a key or a value all rows
/// that see it. `scratch` has cache.scratch_bytes bytes, 64-byte aligned.
template <class Arch>
void cached_attention_int8(const int8_cache& cache, panel_range heads, const float* q, const float* k, const float* v,
                           int place, const sine_and_cosine* turns, std::int8_t* keys, std::int8_t* values,
                           float* scales, std::byte* scratch, float* y) noexcept {
    const int8_cache_call<int8_cache_architecture<Arch>> call(cache, keys, values, scales, scratch, place, turns);
    for (int head = heads.begin; head != heads.end_of(cache.extents.key_heads); ++head) call.run_head(head, q, k, v, y);
}

}  // namespace zp::inline v0::kernel
