// SPDX-License-Identifier: BSD-3-Clause
// The epilogue of sums over codes of 16 bits: exact integers, rounded once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>

namespace zp::inline v0::kernel {

/// Where halves go.
enum class half_way { to_even, away_from_zero, up };

/// sum * multiplier / 2^(31 - shift), rounded once to the nearest integer, halves as said.
/// |sum| < 2^47, multiplier in [2^30, 2^31) or 0, shift in [-31, 30]. Quotients beyond 2^31 may be any other beyond it.
template <half_way Halves>
constexpr std::int64_t rescale(std::int64_t sum, std::int32_t multiplier, std::int32_t shift) {
    const int right = 31 - shift;  // from 1 to 62
    const auto factor = static_cast<std::uint64_t>(multiplier);
    std::uint64_t size = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    if (right < 25) size = std::min(size, std::uint64_t{1} << 32);  // a quotient above 2^37 is as good as any
    // size * factor = high * 2^24 + low
    const std::uint64_t lower = (size & 0xffffff) * factor, low = lower & 0xffffff;
    const std::uint64_t high = (size >> 24) * factor + (lower >> 24);
    std::uint64_t halves = 0, rest = 0;  // the quotient in halves, and whether anything is left
    if (right < 25) {
        const std::uint64_t product = high << 24 | low;
        halves = product >> (right - 1);
        rest = product & ((std::uint64_t{1} << (right - 1)) - 1);
    } else {
        halves = high >> (right - 25);
        rest = (high & ((std::uint64_t{1} << (right - 25)) - 1)) | low;
    }
    std::uint64_t up = 1;  // of the magnitude
    if (rest == 0 && Halves == half_way::to_even) up = halves >> 1 & 1;
    if (rest == 0 && Halves == half_way::up) up = sum >= 0;
    const auto rounded = static_cast<std::int64_t>((halves + up) >> 1);
    return sum < 0 ? -rounded : rounded;
}

/// y = clamp(rescale(sum, multiplier[c], shift[c]), min - z, max - z) + z, for codes of 8 and of 16 bits. Sums of int32 are
/// whole; those of int64 lack bias[c], |sum + bias| < 2^47.
template <half_way Halves> struct requantize_int16 {
    const std::int32_t* multiplier = nullptr;
    const std::int32_t* shift = nullptr;
    const std::int64_t* bias = nullptr;
    output_codes codes{};

    /// The scalar definition.
    constexpr std::int32_t operator()(std::int64_t sum, int channel) const {
        const std::int64_t lower = codes.min - codes.zero_point, upper = codes.max - codes.zero_point;
        const std::int64_t scaled = rescale<Halves>(sum, multiplier[channel], shift[channel]);
        return static_cast<std::int32_t>(std::clamp(scaled, lower, upper)) + codes.zero_point;
    }

    /// A tile of int32 sums, as finish_rows() gets it. No sum is -2^31.
    template <class Arch, class Out>
    void finish_tile(const std::int32_t* sums, int rows, int first_channel, int channels, Out* y,
                     std::ptrdiff_t y_pitch) const noexcept {
        constexpr int width = panel_width<Arch>, block = 16;
        if constexpr (operations<Arch>::has_batches) {
            bool shrinks = true;
            for (int c = 0; c != channels; ++c) shrinks = shrinks && shift[first_channel + c] < -1;
            if (shrinks) {
                if constexpr (stores_words<operations<Arch>, Out>) {
                    if (channels == width)
                        return shrink_whole_rows<operations<Arch>>(sums, rows, first_channel, y, y_pitch);
                }
                alignas(64) std::int32_t rounded[block * width];
                for (; rows > 0; rows -= block, sums += block * width, y += block * y_pitch) {
                    const int count = std::min(rows, block);
                    shrink_rows<operations<Arch>>(sums, count, first_channel, channels, rounded);
                    store_rows<width>(rounded, count, channels, y, y_pitch);
                }
                return;
            }
        }
        for (; rows > 0; --rows, sums += width, y += y_pitch)
            for (int c = 0; c != channels; ++c) y[c] = static_cast<Out>((*this)(sums[c], first_channel + c));
    }

    /// A tile of at most tile_rows rows of int64 sums, which lack their biases.
    template <class Arch, class Out>
    void finish_int64_tile(const std::int64_t* sums, int rows, int first_channel, int channels, Out* y,
                           std::ptrdiff_t y_pitch) const noexcept {
        constexpr int width = panel_width<Arch>, most = operations<Arch>::tile_rows;
        constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
        alignas(64) std::int64_t biases[width] = {}, whole[most * width];
        alignas(64) std::int32_t narrow[most * width];
        std::copy_n(bias + first_channel, channels, biases);
        bool fits = true;  // as sums of all but odd weights do, which then take the vectors of int32
        for (int row = 0; row != rows; ++row) {
            for (int c = 0; c != width; ++c) {
                const int at = row * width + c;
                whole[at] = sums[at] + biases[c];
                narrow[at] = static_cast<std::int32_t>(whole[at]);
                fits = fits && whole[at] <= limit && whole[at] >= -limit;
            }
        }
        if (fits) return finish_tile<Arch>(narrow, rows, first_channel, channels, y, y_pitch);
        for (int row = 0; row != rows; ++row, y += y_pitch)
            for (int c = 0; c != channels; ++c)
                y[c] = static_cast<Out>((*this)(whole[row * width + c], first_channel + c));
    }

private:
    /// Whether an architecture narrows two vectors to int16 and stores them.
    template <class Operations, class Out>
    static constexpr bool stores_words = sizeof(Out) == 2 &&
                                         requires(std::int16_t* to, const typename Operations::int32& v) {
        Operations::store_words(to, v, v);
    };

    /// rescale() by shifts below -1, and the clamp, of the channels of one vector: a multiplier below one fourth, of sums
    /// and their products of 62 bits. What is behind the last channel has shift 0, and no factor.
    template <class Operations> [[gnu::always_inline]] auto shrink(int channel, int count) const noexcept {
        using int32 = typename Operations::int32;
        const int32 one(1), low_bits(std::numeric_limits<std::int32_t>::max()), lower(codes.min - codes.zero_point),
            upper(codes.max - codes.zero_point), zero_point(codes.zero_point);
        const int32 factor = Operations::load_first(multiplier + channel, count);
        const int32 right = xsimd::max(-Operations::load_first(shift + channel, count), one + one);
        const int32 below_half = (one << (right - one)) - one;
        return [=](const int32& sum) __attribute__((always_inline)) {
            const int32 sign = sum >> 31;
            int32 high(0), low(0);
            Operations::multiply_wide((sum ^ sign) - sign, factor, high, low);
            const int32 product = high + high + upper_bits<31>(low);  // without its last 31 bits; from 0 to 2^31 - 1
            int32 quotient(0);
            if constexpr (Halves == half_way::away_from_zero) {
                quotient = shift_right(product + below_half + one, right);
            } else {
                // Bit 0 lies below the half that decides, and says as well that there was more.
                const int32 all = product | upper_bits<31>((low & low_bits) + low_bits);
                int32 up = one + sign;
                if constexpr (Halves == half_way::to_even) up = (all >> right) & one;
                quotient = shift_right(all + below_half + up, right);
            }
            return xsimd::min(xsimd::max((quotient ^ sign) - sign, lower), upper) + zero_point;
        };
    }
    /// Of numbers from zero to 2^32 - 1.
    template <class Batch> [[gnu::always_inline]] static Batch shift_right(const Batch& x, const Batch& count) {
        return xsimd::bitwise_cast<std::int32_t>(xsimd::bitwise_cast<std::uint32_t>(x) >>
                                                 xsimd::bitwise_cast<std::uint32_t>(count));
    }
    template <class Operations>
    void shrink_rows(const std::int32_t* sums, int rows, int first_channel, int channels,
                     std::int32_t* rounded) const noexcept {
        constexpr int lanes = Operations::lanes, width = Operations::vectors * lanes;
        for (int first = 0; first < channels; first += lanes) {
            const auto rescaled = shrink<Operations>(first_channel + first, channels - first);
            for (int at = first; at < rows * width; at += width)
                Operations::store(rounded + at,
                                  rescaled(Operations::template load<typename Operations::int32>(sums + at)));
        }
    }
    /// The same for rows of whole panels, to their places.
    template <class Operations>
    void shrink_whole_rows(const std::int32_t* sums, int rows, int first_channel, std::int16_t* y,
                           std::ptrdiff_t y_pitch) const noexcept {
        using int32 = typename Operations::int32;
        constexpr int lanes = Operations::lanes, width = Operations::vectors * lanes;
        for (int first = 0; first < width; first += 2 * lanes) {
            const auto left = shrink<Operations>(first_channel + first, lanes),
                       right = shrink<Operations>(first_channel + first + lanes, lanes);
            const std::int32_t* from = sums + first;
            std::int16_t* to = y + first;
            for (int row = 0; row != rows; ++row, from += width, to += y_pitch)
                Operations::store_words(to, left(Operations::template load<int32>(from)),
                                        right(Operations::template load<int32>(from + lanes)));
        }
    }
    template <int Width, class Out>
    static void store_rows(const std::int32_t* rounded, int rows, int channels, Out* y,
                           std::ptrdiff_t y_pitch) noexcept {
        for (int row = 0; row != rows; ++row, rounded += Width, y += y_pitch) {
            if (channels == Width)
                for (int c = 0; c != Width; ++c) y[c] = static_cast<Out>(rounded[c]);
            else
                for (int c = 0; c != channels; ++c) y[c] = static_cast<Out>(rounded[c]);
        }
    }
};

}  // namespace zp::inline v0::kernel
