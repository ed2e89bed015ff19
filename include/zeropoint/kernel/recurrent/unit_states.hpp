// SPDX-License-Identifier: BSD-3-Clause
// States of a block of units of a recurrent layer in vectors: from memory, to memory, and products of what lanes of 32 bits hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/kernel/arch/operations.hpp>

namespace zp::inline v0::kernel {

/// A block has two vectors of 32-bit sums a gate, whose units are the words of a vector, or one, whose units are its lanes.
template <class Operations> struct unit_states {
    using ops = Operations;
    using int32 = typename ops::int32;
    using int16 = typename ops::int16;
    static constexpr int lanes = ops::lanes;

    /// The state of a block's first `count` units as vectors: words, or lanes of 32 bits of a block of one vector. The last block may
    /// have fewer units than those.
    template <int Vectors> [[gnu::always_inline]] static auto load(const std::int16_t* carried, int count) noexcept {
        constexpr int most = Vectors * lanes;
        if constexpr (ops::has_masks) {
            if constexpr (Vectors == 2) return ops::load_words(carried, count);
            else return ops::load_word_lanes(carried, count);
        } else {
            alignas(64) std::int16_t last[most] = {};
            if (count < most) std::memcpy(last, carried, static_cast<std::size_t>(count) * sizeof *carried);
            const std::int16_t* from = count < most ? last : carried;
            if constexpr (Vectors == 2) return ops::template load<int16>(from);
            else return ops::load_word_lanes(from);
        }
    }
    /// now: of the state, as words. Whoever has a block of one vector has each unit's word as the first of two vectors would.
    template <int Vectors>
    [[gnu::always_inline]] static void store(const int16& now, std::int16_t* carried, int count) noexcept {
        constexpr int most = Vectors * lanes;
        if constexpr (ops::has_masks) {
            if constexpr (Vectors == 2) ops::store_words(carried, now, count);
            else ops::store_first_words(carried, now, count);
        } else {
            alignas(64) std::int16_t last[most];
            std::int16_t* to = count < most ? last : carried;
            if constexpr (Vectors == 2) ops::store(to, now);
            else ops::store_first_words(to, now);
            if (count < most) std::memcpy(carried, last, static_cast<std::size_t>(count) * sizeof *carried);
        }
    }
    /// Codes of a block's first `count` units.
    template <int Vectors>
    [[gnu::always_inline]] static void store_codes(const int16& words, std::int8_t* to, int count) noexcept {
        constexpr int most = Vectors * lanes;
        if constexpr (ops::has_masks) {
            if constexpr (Vectors == 2) ops::store_codes(to, words, count);
            else ops::store_first_codes(to, words, count);
        } else {
            alignas(64) std::int8_t last[most];
            std::int8_t* at = count < most ? last : to;
            if constexpr (Vectors == 2) ops::store_codes(at, words);
            else ops::store_first_codes(at, words);
            if (count < most) std::memcpy(to, last, static_cast<std::size_t>(count));
        }
    }
    /// Products of 32-bit lanes that int16 holds, of which `a` is not negative.
    [[gnu::always_inline]] static int32 multiply_lanes(const int32& a, const int32& b) noexcept {
        int32 sum(0);  // the upper words of a are zeros
        ops::dot2(sum, xsimd::bitwise_cast<std::int16_t>(b), xsimd::bitwise_cast<std::int16_t>(a));
        return sum;
    }
    /// (r * h_n + 2^14) >> 15 of r in [0, 2^15) and h_n of 31 bits: its upper 16 bits, whose products need no rounding, and its lower
    /// 15.
    [[gnu::always_inline]] static int32 multiply_reset(const int32& r, const int32& h_n) noexcept {
        return multiply_lanes(r, h_n >> 15) + ((multiply_lanes(r, h_n & int32(0x7fff)) + int32(16384)) >> 15);
    }
};

}  // namespace zp::inline v0::kernel
