// SPDX-License-Identifier: BSD-3-Clause
// Attention of one place of a sequence to itself and those before it, whose keys and values are kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/attention/attention.hpp>
#include <zeropoint/kernel/float/reproducible_product.hpp>
#include <zeropoint/kernel/float/reproducible_rows.hpp>
#include <zeropoint/kernel/float/rotary.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp::inline v0::kernel {

/// Heads of queries, of which heads / key_heads share one of keys and values; so many places are kept, the last ones.
struct cached_attention_extents {
    int heads, key_heads, depth, context;

    constexpr int together() const { return heads / key_heads; }
    /// Keys are kept as [key head][depth][place], values as [key head][place][depth]: a place is a column, then a row.
    constexpr int key_pitch() const { return padded_rows(context); }
    constexpr int key_floats() const { return key_heads * depth * key_pitch(); }
    constexpr int value_floats() const { return key_heads * context * depth; }
    /// Of scratch: queries of a group of heads, their scores, a key and later a sum of each of their probabilities.
    constexpr int queries() const { return padded_rows(together() * depth); }
    constexpr int scores() const { return together() * key_pitch(); }
    constexpr int scratch_floats() const { return queries() + scores() + std::max(depth, together()); }
};

/// Keeps key and value of a place, the `place`-th of its sequence, and gives the attention of its queries to the last `context`
/// places up to itself:
///     y[h] = sum over t of p[t] v[t],  p = softmax over t of (q[h] / sqrt(depth)) . k[t]
/// of the queries that share the key heads `heads`; others neither read nor write what these do, but for scratch. q: heads x depth,
/// k and v: key_heads x depth. With `turns`, depth / 2 of this place, q and k are turned first. Each sum runs in one order, so that the
/// bits depend on no vector width; and on nothing but this place and those before it.
template <class Arch>
void cached_attention(const cached_attention_extents& e, panel_range heads, const float* q, const float* k,
                      const float* v, int place, const sine_and_cosine* turns, float* keys, float* values,
                      float* scratch, float* y) noexcept {
    const int slot = place % e.context, count = std::min(place, e.context - 1) + 1, pitch = e.key_pitch();
    const float scale = 1.0f / std::sqrt(static_cast<float>(e.depth));
    float *queries = scratch, *scores = queries + e.queries(), *key = scores + e.scores();
    for (int g = heads.begin; g != heads.end_of(e.key_heads); ++g) {
        const auto first = std::ptrdiff_t{g} * e.depth, head = std::ptrdiff_t{g} * e.together() * e.depth;
        float* own_keys = keys + first * pitch;
        float* own_values = values + first * e.context;
        if (turns == nullptr) std::copy_n(k + first, e.depth, key);
        else rotate_halves(k + first, e.depth, turns, key);
        for (int d = 0; d != e.depth; ++d) own_keys[std::ptrdiff_t{d} * pitch + slot] = key[d];
        std::copy_n(v + first, e.depth, own_values + std::ptrdiff_t{slot} * e.depth);
        for (int h = 0; h != e.together(); ++h) {
            const float* from = q + head + std::ptrdiff_t{h} * e.depth;
            float* to = queries + std::ptrdiff_t{h} * e.depth;
            if (turns == nullptr) std::copy_n(from, e.depth, to);
            else rotate_halves(from, e.depth, turns, to);
        }
        scale_row<Arch>(queries, static_cast<std::size_t>(e.together()) * static_cast<std::size_t>(e.depth), scale);
        ordered_product<Arch>({queries, e.depth}, e.together(), e.depth, {own_keys, pitch}, padded_rows(count), nullptr,
                              scores, pitch);
        const auto length = static_cast<std::size_t>(count);
        float* sums = key;  // of probabilities; the key has its place
        for (int h = 0; h != e.together(); ++h) {
            float* row = scores + std::ptrdiff_t{h} * pitch;
            sums[h] = exponentials_row<Arch>(row, length, largest_of_row<Arch>(row, length));
        }
        float* to = y + head;
        ordered_product<Arch>({scores, pitch}, e.together(), count, {own_values, e.depth}, e.depth, nullptr, to,
                              e.depth);
        for (int h = 0; h != e.together(); ++h)
            scale_row<Arch>(to + std::ptrdiff_t{h} * e.depth, static_cast<std::size_t>(e.depth), 1.0f / sums[h]);
    }
}

}  // namespace zp::inline v0::kernel
