// SPDX-License-Identifier: BSD-3-Clause
// Attention of a sequence to what came before, with the keys and values of it as a state: what decoders are made of.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/graph/define.hpp>
#include <zeropoint/kernel/attention/cached_attention.hpp>
#include <zeropoint/kernel/attention/cached_attention_int8.hpp>
#include <zeropoint/kernel/float/rotary.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind causal_attention{"causal_attention"};
}

/// Options of causal attention.
struct causal_attention_options {
    int heads = 1, key_heads = 0;  // heads of queries; of keys and values, which divide those: 0 for as many
    int depth = 64;                // channels of a head
    int context = 1024;            // places that are kept, the last ones; a sequence may be longer
    int theta = 0;                 // of rotary positions: 10000 in Llama; 0: none
    rotary_scaling scaling{};      // of their frequencies
    int cache_bits = 32;           // of a key or value that is kept: 32, floats; 8, codes with a scale a place and head
};

namespace operators {

template <causal_attention_options Options> struct causal_attention {
    static constexpr kernel::cached_attention_extents extents{
        Options.heads, Options.key_heads == 0 ? Options.heads : Options.key_heads, Options.depth, Options.context};
    static constexpr int queries = extents.heads * extents.depth, keys = extents.key_heads * extents.depth;

    static constexpr const char* kind = "causal_attention";
    static constexpr bool is_int8 = Options.cache_bits == 8;
    static constexpr auto options = [] {  // of those that came later, as they are where something is chosen
        constexpr rotary_scaling s = Options.scaling;
        constexpr bool scales = !(s == rotary_scaling{});
        std::array<int, 5 + (scales ? 4 : 0) + (is_int8 ? 1 : 0)> all{extents.heads, extents.key_heads, extents.depth,
                                                                      extents.context, Options.theta};
        std::size_t count = 5;
        if constexpr (scales)
            for (const int number : {s.factor, s.low_freq_factor, s.high_freq_factor, s.original_context})
                all[count++] = number;
        if constexpr (is_int8) all[count] = Options.cache_bits;
        return all;
    }();
    static constexpr stream_rule stream = stream_rule::stateful;

    /// Three values, or one of all their channels, queries first.
    static constexpr bool accepts(std::span<const shape> xs) {
        for (const shape& x : xs)
            if (x.height != 1 || x.is_volume() || x.width != xs[0].width) return false;
        if (xs.size() == 1) return xs[0].channels == queries + 2 * keys;
        return xs.size() == 3 && xs[0].channels == queries && xs[1].channels == keys && xs[2].channels == keys;
    }
    static constexpr shape output_shape(std::span<const shape> xs) { return {1, xs[0].width, queries}; }
    static constexpr state_list states(const node_view&) {
        state_list all;
        if constexpr (is_int8)
            all.add("keys", scalar_type::int8, cache.all_key_bytes())
                .add("values", scalar_type::int8, cache.all_value_bytes())
                .add("scales", scalar_type::float32, cache.scales());
        else
            all.add("keys", scalar_type::float32, extents.key_floats())
                .add("values", scalar_type::float32, extents.value_floats());
        // Of each head its own, as heads are computed apart.
        return all.add("places", scalar_type::int32, extents.key_heads);
    }
    static constexpr int channel_groups(const node_view&) { return extents.key_heads; }
    static constexpr std::int64_t macs(const node_view& v) {
        const std::int64_t length = v.y_shape().width;
        return length * (length + 1) * queries;  // of pairs of places, and twice: scores and values
    }
    static constexpr int scratch_bytes(const node_view&) {
        return static_cast<int>(turns_at + align_up(sizeof(kernel::sine_and_cosine) * std::size_t{extents.depth} / 2));
    }

    template <class Arch> static void forward(const operands<float>& o) noexcept {
        const bool apart = o.inputs() == 3;
        const std::ptrdiff_t pitch = apart ? queries : queries + 2 * keys, key_pitch = apart ? keys : pitch;
        const float *q = o.x(0), *k = apart ? o.x(1) : q + queries, *v = apart ? o.x(2) : q + queries + keys;
        auto* places = o.template state<std::int32_t>(is_int8 ? 3 : 2);
        const kernel::panel_range heads = o.groups(extents.key_heads);
        auto* turns = reinterpret_cast<kernel::sine_and_cosine*>(o.template scratch<std::byte>() + turns_at);
        float* y = o.y();
        for (int row = 0; row != o.y_shape().width; ++row, q += pitch, k += key_pitch, v += key_pitch, y += queries) {
            const std::int32_t place = places[heads.begin];
            if constexpr (Options.theta != 0)
                for (std::size_t i = 0; i != frequencies.size(); ++i)
                    turns[i] = kernel::sine_and_cosine_of(static_cast<float>(place) * frequencies[i]);
            const auto* turned_by = Options.theta != 0 ? turns : nullptr;
            if constexpr (is_int8)
                kernel::cached_attention_int8<Arch>(cache, heads, q, k, v, place, turned_by,
                                                    o.template state<std::int8_t>(0), o.template state<std::int8_t>(1),
                                                    o.template state<float>(2), o.template scratch<std::byte>(), y);
            else
                kernel::cached_attention<Arch>(extents, heads, q, k, v, place, turned_by, o.template state<float>(0),
                                               o.template state<float>(1), o.template scratch<float>(), y);
            std::fill(places + heads.begin, places + heads.end,
                      place == last_place ? last_place - extents.context + 1 : place + 1);
        }
    }

private:
    static constexpr kernel::int8_cache cache{extents};
    static constexpr std::size_t turns_at =
        is_int8 ? cache.scratch_bytes : align_up(sizeof(float) * std::size_t{extents.scratch_floats()});
    /// Behind it a sequence goes on as from `context` places before: angles are exact up to here.
    static constexpr std::int32_t last_place = (1 << 20) / extents.context * extents.context - 1;
    static constexpr auto frequencies =
        kernel::rotary_frequencies<Options.depth>(Options.theta == 0 ? 1 : Options.theta, Options.scaling);
};

}  // namespace operators

/// Attention of each place of a sequence, 1 x length x channels, to itself and the places before it, by heads:
///     softmax over t <= i of (q[i] . k[t] / sqrt(depth)) v[t]
/// Branches are those of queries, keys and values, or one of all three side by side, whose channels are heads * depth, key_heads *
/// depth and the same again. With fewer key_heads several heads of queries share one of keys and values (grouped-query attention,
/// Ainslie 2023). With theta, queries and keys are turned by their place first (rotary positions, Su 2021, in Llama's order:
/// channel i with channel i + depth / 2), at frequencies that `scaling` may change. No more than the last `context` places are seen.
///
///     zp::causal_attention<zp::causal_attention_options{.heads = 8, .key_heads = 2, .depth = 32, .context = 256, .theta = 10000},
///                          zp::linear<"q", 256>, zp::linear<"k", 64>, zp::linear<"v", 64>>
///
/// Keys and values are a state: under zp::streaming a call has one place more, in memory that does not grow. With cache_bits = 8 they are
/// kept as int8 codes, in a quarter of the memory, and multiplied as such (docs/decoders.md). Behind 2^20 places angles begin to repeat.
/// It takes and gives floats in every network.
template <causal_attention_options Options, class... Branches>
struct causal_attention : operator_layer<op::causal_attention, "", operators::causal_attention<Options>, Branches...> {
    static_assert(Options.heads >= 1 && Options.key_heads >= 0 && Options.depth >= 1 && Options.context >= 1,
                  "causal_attention<Options, ...>: heads, depth and context must be at least 1");
    static_assert(Options.key_heads < 1 || Options.heads % Options.key_heads == 0,
                  "causal_attention<Options, ...>: key_heads must divide heads");
    static_assert(Options.theta >= 0 && (Options.theta == 0 || Options.depth % 2 == 0),
                  "causal_attention<Options, ...>: rotary positions turn pairs of channels: depth must be even");
    static_assert(
        Options.scaling.is_possible() && (Options.theta != 0 || Options.scaling == rotary_scaling{}),
        "causal_attention<Options, ...>: scaling is of rotary positions, so that theta is not 0; its factor is at "
        "least 1, and its other numbers are all 0, or low_freq_factor is at least 1, high_freq_factor above it and "
        "original_context at least 1");
    static_assert(Options.context <= 1 << 19, "causal_attention<Options, ...>: context must be at most 2^19 places");
    static_assert(Options.cache_bits == 32 || Options.cache_bits == 8,
                  "causal_attention<Options, ...>: cache_bits must be 32, which keeps keys and values as floats, or 8, "
                  "which keeps codes with a scale a place and head");
};

}  // namespace zp::inline v0
