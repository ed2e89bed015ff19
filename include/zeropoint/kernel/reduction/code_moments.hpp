// SPDX-License-Identifier: BSD-3-Clause
// Exact sums of codes and of their squares: what means and variances of codes are made of.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

namespace zp::inline v0::kernel {

/// Sums over codes counted from the lowest one, which are 0 to 255: a variance does not see where they are counted
/// from.
struct code_sums {
    std::int64_t sum = 0, squares = 0;

    constexpr void add(std::uint8_t distance) { sum += distance, squares += distance * distance; }
    constexpr code_sums& operator+=(const code_sums& more) {
        sum += more.sum, squares += more.squares;
        return *this;
    }
    constexpr bool operator==(const code_sums&) const = default;
};

/// A code counted from the lowest one.
template <code8 T> constexpr std::uint8_t distance_from_lowest(T code) {
    return static_cast<std::uint8_t>(code ^ (std::is_signed_v<T> ? 128 : 0));
}

/// A vector of codes, counted from the lowest one, as words: the bytes of even and of odd significance of each pair.
template <class Arch> struct code_distances {
    using words = xsimd::batch<std::uint16_t, Arch>;
    words even, odd;

    template <code8 T> [[gnu::always_inline]] explicit code_distances(const T* x) noexcept {
        using bytes = xsimd::batch<std::uint8_t, Arch>;
        bytes codes = bytes::load_unaligned(reinterpret_cast<const std::uint8_t*>(x));
        if constexpr (std::is_signed_v<T>) codes = codes ^ bytes(128);
        const words pairs = xsimd::bitwise_cast<std::uint16_t>(codes);
        even = pairs & words(255);
        odd = pairs >> 8;
    }
};

/// The lower and the upper halves of 32-bit lanes: of the products of words with themselves, which fit them.
template <class Arch> struct word_squares {
    using words = xsimd::batch<std::uint16_t, Arch>;
    using lanes = xsimd::batch<std::uint32_t, Arch>;
    lanes low, high;

    [[gnu::always_inline]] explicit word_squares(const words& x) noexcept {
        const lanes products = xsimd::bitwise_cast<std::uint32_t>(words(x * x));
        low = products & lanes(0xffff);
        high = products >> 16;
    }
};

/// Sums of `count` codes, fewer than 2^40.
template <class Arch, code8 T> code_sums sum_codes(const T* x, std::size_t count) noexcept {
    code_sums total;
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        using words = xsimd::batch<std::uint16_t, Arch>;
        using lanes = xsimd::batch<std::uint32_t, Arch>;
        constexpr std::size_t size = vector_size<T, Arch>;
        constexpr std::size_t safe = 128;  // so many times 2 * 255 fit 16 bits
        while (i + size <= count) {
            const std::size_t end = i + std::min((count - i) / size, safe) * size;
            words sum(0);
            lanes square(0);
            for (; i != end; i += size) {
                const code_distances<Arch> codes(x + i);
                const word_squares<Arch> even(codes.even), odd(codes.odd);
                sum += codes.even + codes.odd;
                square += (even.low + even.high) + (odd.low + odd.high);
            }
            std::array<std::uint16_t, words::size> sums;
            std::array<std::uint32_t, lanes::size> powers;
            sum.store_unaligned(sums.data());
            square.store_unaligned(powers.data());
            for (const std::uint16_t lane : sums) total.sum += lane;
            for (const std::uint32_t lane : powers) total.squares += lane;
        }
    }
    for (; i != count; ++i) total.add(distance_from_lowest(x[i]));
    return total;
}

/// sums[c] = the sums of channel c over `pixels` pixels, each `stride` codes behind the one before it, for `count`
/// channels.
template <class Arch, code8 T>
void sum_codes_of_channels(const T* x, std::size_t pixels, std::size_t stride, std::size_t count,
                           code_sums* sums) noexcept {
    with_fitting_vectors<Arch, T>(count, [=]<class Fitting>() noexcept {
        if constexpr (has_vectors<Fitting>) {
            using words = xsimd::batch<std::uint16_t, Fitting>;
            using lanes = xsimd::batch<std::uint32_t, Fitting>;
            constexpr std::size_t safe = 256;  // so many times 255 fit 16 bits
            for_each_overlapping(count, vector_size<T, Fitting>, [&](std::size_t channel) {
                std::array<code_sums, vector_size<T, Fitting>> totals{};
                for (std::size_t pixel = 0; pixel != pixels;) {
                    const std::size_t end = pixel + std::min(pixels - pixel, safe);
                    words even(0), odd(0);
                    std::array<lanes, 4> square;  // of lanes' least significant bytes first
                    square.fill(lanes(0));
                    for (; pixel != end; ++pixel) {
                        const code_distances<Fitting> codes(x + pixel * stride + channel);
                        const word_squares<Fitting> evens(codes.even), odds(codes.odd);
                        even += codes.even;
                        odd += codes.odd;
                        square = {square[0] + evens.low, square[1] + odds.low, square[2] + evens.high,
                                  square[3] + odds.high};
                    }
                    const lanes even_sums = xsimd::bitwise_cast<std::uint32_t>(even);
                    const lanes odd_sums = xsimd::bitwise_cast<std::uint32_t>(odd);
                    const lanes half(0xffff);
                    const std::array<lanes, 4> sum = {even_sums & half, odd_sums & half, even_sums >> 16,
                                                      odd_sums >> 16};
                    for (std::size_t part = 0; part != 4; ++part) {
                        std::array<std::uint32_t, lanes::size> of_sum, of_square;
                        sum[significance(part)].store_unaligned(of_sum.data());
                        square[significance(part)].store_unaligned(of_square.data());
                        for (std::size_t lane = 0; lane != lanes::size; ++lane)
                            totals[4 * lane + part] += {of_sum[lane], of_square[lane]};
                    }
                }
                std::copy(totals.begin(), totals.end(), sums + channel);
            });
        } else {
            std::fill_n(sums, count, code_sums());
            for (std::size_t pixel = 0; pixel != pixels; ++pixel)
                for (std::size_t c = 0; c != count; ++c) sums[c].add(distance_from_lowest(x[pixel * stride + c]));
        }
    });
}

}  // namespace zp::inline v0::kernel
