// SPDX-License-Identifier: BSD-3-Clause
// Softmax whose exponentials are codes of 8 bits, and the sum of those: one sweep behind that for the largest score.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/dynamic/symmetric_codes.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// 255 * 2^x for x in [-1/2, 1/2], fitted for the least largest relative error: 1.1e-4, a 40th of a code; 255 of 0.
inline constexpr float exp2_as_code[] = {255.0f, 176.787140f, 61.7637444f, 14.0272303f};
/// What lies further below the largest score has code 0.
inline constexpr float least_exponent = -20;

/// rne(255 * 2^t) for t = max((score - largest) * factor, -20): 2^n * P(t - n) for the n nearest to t, each operation rounded
/// to float. score <= largest, both finite, factor >= 0: 0 to 255, and 255 of the largest.
inline std::int32_t softmax_code(float score, float largest, float factor) noexcept {
    const float exponent = rounded(rounded(score - largest) * factor);
    const float t = exponent > least_exponent ? exponent : least_exponent;
    const std::int32_t n = round_half_even(t);
    const float value = polynomial(t - static_cast<float>(n), exp2_as_code);
    return round_half_even(std::bit_cast<float>(std::bit_cast<std::int32_t>(value) + n * (1 << 23)));
}

/// How many scores softmax_codes() reads and how many codes it writes at a time.
template <class Arch> inline constexpr int softmax_step = has_code_vectors<Arch> ? 4 * operations<Arch>::lanes : 1;
/// How many rows it takes in one call.
inline constexpr int softmax_rows = 32;

/// Softmax of rows of scores in codes. Rows go through each stage together: the chain of one alone is too long for
/// processors to see the next row behind it.
template <class Arch> class softmax_vectors {
    using ops = operations<Arch>;
    using floats = typename ops::real;
    using ints = typename ops::int32;
    static constexpr int size = ops::lanes, step = 4 * size;
    static_assert(softmax_rows % size == 0, "softmax_codes: vectors are of 4, 8, 16 or 32 lanes");

    struct lane_masks {
        std::int32_t lanes[2 * step] = {};
        constexpr lane_masks() {
            for (int i = 0; i != step; ++i) lanes[i] = -1;
        }
    };
    static constexpr lane_masks masks{};  // those of the first step are set

    /// The lanes of four vectors that are below `left`, counted from the first lane of vector 0.
    [[gnu::always_inline]] static ints mask(int left, int v) {
        return ints::load_unaligned(masks.lanes + (step - left) + v * size);
    }
    /// totals[row] = function of the lanes of vectors[row]: a square of them is transposed, and its vectors folded.
    template <class Number, class Function>
    [[gnu::always_inline]] static void fold(floats (&vectors)[softmax_rows], int rows, const Function& function,
                                            Number* totals) {
        for (int first = 0; first < rows; first += size) {
            for (int row = rows; row < first + size; ++row) vectors[row] = vectors[first];
            floats* square = vectors + first;
            xsimd::transpose(square, square + size);
            auto total = xsimd::bitwise_cast<Number>(square[0]);
            for (int i = 1; i != size; ++i) total = function(total, xsimd::bitwise_cast<Number>(square[i]));
            total.store_unaligned(totals + first);
        }
    }

public:
    /// largest[row] of each row.
    [[gnu::always_inline]] static void find_largest(const float* scores, std::ptrdiff_t pitch, int rows, int count,
                                                    float* largest) {
        floats vectors[softmax_rows];
        const floats lowest(std::numeric_limits<float>::lowest());
        const int whole = count / size * size;
        const ints set = mask(count - whole, 0), unset = xsimd::bitwise_cast<std::int32_t>(lowest) & ~set;
        for (int row = 0; row != rows; ++row, scores += pitch) {
            floats most = lowest, other = lowest;  // each waits for itself
            int j = 0;
            for (; j + 2 * size <= whole; j += 2 * size) {
                most = xsimd::max(most, floats::load_unaligned(scores + j));
                other = xsimd::max(other, floats::load_unaligned(scores + j + size));
            }
            if (j != whole) most = xsimd::max(most, floats::load_unaligned(scores + j));
            if (whole != count) {
                const ints last = xsimd::bitwise_cast<std::int32_t>(floats::load_unaligned(scores + whole));
                other = xsimd::max(other, xsimd::bitwise_cast<float>(ints((last & set) | unset)));
            }
            vectors[row] = xsimd::max(most, other);
        }
        fold(
            vectors, rows,
            [](const floats& a, const floats& b) __attribute__((always_inline)) { return floats(xsimd::max(a, b)); },
            largest);
    }

    /// Codes of each row, and their sums.
    template <bool Flipped>
    [[gnu::always_inline]] static void find_codes(const float* scores, std::ptrdiff_t pitch, int rows, int count,
                                                  const float* largest, const float* factors, std::uint8_t* codes,
                                                  std::ptrdiff_t code_pitch, std::int32_t* sums) {
        floats vectors[softmax_rows];
        const floats least(least_exponent);
        const typename ops::int16 offset(0);
        for (int row = 0; row != rows; ++row, scores += pitch, codes += code_pitch) {
            const floats most(largest[row]), factor(factors[row]);
            ints sum(0);
            // Each operation for four vectors, which do not wait for one another.
            const auto sweep = [&](int at, auto is_last) __attribute__((always_inline)) {
                floats t[4], value[4];
                ints n[4];
                unroll<4>([&](auto v) __attribute__((always_inline)) {
                    t[v] = floats::load_unaligned(scores + at + v * size) - most;
                    if constexpr (is_last)  // of what is not there: 0, as of the largest
                        t[v] = xsimd::bitwise_cast<float>(
                            ints(xsimd::bitwise_cast<std::int32_t>(t[v]) & mask(count - at, v)));
                    t[v] = xsimd::max(floats(rounded(floats(t[v] * factor))), least);
                });
                unroll<4>([&](auto v) __attribute__((always_inline)) {
                    n[v] = round_to_nearest(t[v]);
                    t[v] = t[v] - xsimd::to_float(n[v]);
                    value[v] = floats(exp2_as_code[3]);
                });
                unroll<3>([&](auto i) __attribute__((always_inline)) {
                    unroll<4>([&](auto v) __attribute__((always_inline)) {
                        value[v] = rounded(floats(value[v] * t[v])) + floats(exp2_as_code[2 - i]);
                    });
                });
                unroll<4>([&](auto v) __attribute__((always_inline)) {
                    n[v] = round_to_nearest(xsimd::bitwise_cast<float>(
                        ints(xsimd::bitwise_cast<std::int32_t>(value[v]) + ints(n[v] << 23))));
                    if constexpr (is_last) n[v] = n[v] & mask(count - at, v);
                    sum = sum + n[v];
                });
                const auto packed = ops::pack(n, offset);
                if constexpr (Flipped) ops::store(codes + at, packed ^ typename ops::uint8(128));
                else ops::store(codes + at, packed);
            };
            int at = 0;
            for (; at + step <= count; at += step) sweep(at, std::false_type{});
            if (at != count) sweep(at, std::true_type{});
            vectors[row] = xsimd::bitwise_cast<float>(sum);
        }
        fold(
            vectors, rows, [](const ints& a, const ints& b) __attribute__((always_inline)) { return ints(a + b); },
            sums);
    }
};

/// codes[row][j] = softmax_code(scores[row][j], max over j of scores[row][j], factors[row]) for at most softmax_rows rows of
/// `count` scores, and the sums of rows. Where `Flipped`, the sign bits of codes are flipped, which makes them int8, 128 less.
/// Up to a multiple of softmax_step scores are read and bytes written behind the last, which have no effect and no meaning.
/// `sums` has room for softmax_rows of them.
template <class Arch, bool Flipped>
void softmax_codes(const float* scores, std::ptrdiff_t pitch, int rows, int count, const float* factors,
                   std::uint8_t* codes, std::ptrdiff_t code_pitch, std::int32_t* sums) noexcept {
    if constexpr (has_code_vectors<Arch>) {
        using vectors = softmax_vectors<Arch>;
        float largest[softmax_rows];
        vectors::find_largest(scores, pitch, rows, count, largest);
        vectors::template find_codes<Flipped>(scores, pitch, rows, count, largest, factors, codes, code_pitch, sums);
    } else {
        for (int row = 0; row != rows; ++row, scores += pitch, codes += code_pitch) {
            const float largest = *std::max_element(scores, scores + count);
            sums[row] = 0;
            for (int j = 0; j != count; ++j) {
                const std::int32_t code = softmax_code(scores[j], largest, factors[row]);
                codes[j] = static_cast<std::uint8_t>(code ^ (Flipped ? 128 : 0));
                sums[row] += code;
            }
        }
    }
}

}  // namespace zp::inline v0::kernel
