// SPDX-License-Identifier: BSD-3-Clause
// Codes of 16 bits, value by value: sums, products, and the way from any integer type to any other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/epilogue/requantize_int16.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>

// All are exact in int64 and round once, halves to even. Zero points of 16-bit codes are 0.

namespace zp::inline v0::kernel {

/// What add_int16() needs: make_add_int16_parameters() computes it.
struct add_int16_parameters {
    std::int32_t a_multiplier = 0, b_multiplier = 0;  ///< a_scale / y_scale and b_scale / y_scale, times 2^shift
    int shift = 1;                                    ///< in [1, 45]
    std::int32_t quant_min = -32768, quant_max = 32767;
    constexpr bool operator==(const add_int16_parameters&) const = default;
};

/// Parameters of y = a + b: align_scales() with bits 28 and a shift of at most 45. The same errors.
constexpr add_int16_parameters make_add_int16_parameters(float a_scale, float b_scale, float y_scale,
                                                         std::int32_t quant_min, std::int32_t quant_max) {
    const auto [a_multiplier, b_multiplier, shift] = align_scales(a_scale, b_scale, y_scale, 28, 45);
    return {a_multiplier, b_multiplier, shift, quant_min, quant_max};
}

/// y[i] = clamp(rne((a[i] * a_multiplier + b[i] * b_multiplier) / 2^shift), quant_min, quant_max) for `count` codes of 16
/// bits. y may be a or b.
///
/// Vectors multiply by both halves of the multipliers, m = 2^15 * m1 + m0 with 0 <= m0 < 2^15: a pair of products of words is
/// less than 2^31 in magnitude, and with low = a * a0 + b * b0
///
///     sum / 2^15 = a * a1 + b * b1 + floor(low / 2^15), and what is left says whether a half is one exactly.
template <class Arch>
void add_int16(const std::int16_t* a, const std::int16_t* b, std::size_t count, const add_int16_parameters& p,
               std::int16_t* y) noexcept {
    std::size_t i = 0;
    if constexpr (operations<Arch>::has_batches) {
        using ops = operations<Arch>;
        using int16 = typename ops::int16;
        using int32 = typename ops::int32;
        constexpr std::size_t words = 2 * ops::lanes;
        if (p.shift > 16) {
            const auto factors = [](std::int32_t of_a, std::int32_t of_b) __attribute__((always_inline)) {
                int16 first, second;  // of the same pairs
                ops::pair_words(int16(static_cast<std::int16_t>(of_a)), int16(static_cast<std::int16_t>(of_b)), first,
                                second);
                return first;
            };
            const int16 high_multiplier = factors(p.a_multiplier >> 15, p.b_multiplier >> 15),
                        low_multiplier = factors(p.a_multiplier & 32767, p.b_multiplier & 32767);
            const int right = p.shift - 15;  // from 2 to 30
            const int32 one(1), dropped(32767), below_half((1 << (right - 1)) - 1);
            const int16 low(static_cast<std::int16_t>(p.quant_min)), high(static_cast<std::int16_t>(p.quant_max));
            const auto rounded = [&](const int16& pairs) __attribute__((always_inline)) {
                int32 sum(0), rest(0);
                ops::dot2(sum, pairs, high_multiplier);
                ops::dot2(rest, pairs, low_multiplier);
                sum += rest >> 15;
                // Bit 0, far below the half that decides, says as well that there was more.
                const int32 more = ((rest & dropped) + dropped) >> 15;
                return ((sum | more) + below_half + ((sum >> right) & one)) >> right;
            };
            for (; i + words <= count; i += words) {
                int16 first, second;
                ops::pair_words(ops::template load<int16>(a + i), ops::template load<int16>(b + i), first, second);
                const int16 sums = ops::pack_words(rounded(first), rounded(second));
                ops::store(y + i, xsimd::min(xsimd::max(sums, low), high));
            }
        }
    }
    const std::int64_t low = p.quant_min, high = p.quant_max;
    for (; i != count; ++i) {
        const std::int64_t sum = std::int64_t{a[i]} * p.a_multiplier + std::int64_t{b[i]} * p.b_multiplier;
        y[i] = static_cast<std::int16_t>(std::clamp(shift_half_even(sum, p.shift), low, high));
    }
}

/// How differences from one zero point become codes on another grid.
struct rescaling {
    std::int32_t multiplier = 0, shift = 0;  ///< their ratio of scales, as rescale() takes it
    std::int32_t a_zero_point = 0, b_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = -32768, quant_max = 32767;
    constexpr bool operator==(const rescaling&) const = default;

    constexpr std::int32_t operator()(std::int64_t difference) const {
        const std::int64_t lower = quant_min - y_zero_point, upper = quant_max - y_zero_point;
        return static_cast<std::int32_t>(
                   std::clamp(rescale<half_way::to_even>(difference, multiplier, shift), lower, upper)) +
               y_zero_point;
    }
};

/// y[i] = rescaled a[i] - a_zero_point, for `count` codes of any two integer types of 8, 16 or 32 bits: the same values
/// on another grid, multiplier and shift being those of a_scale / y_scale.
template <class Arch, class In, class Out>
void requantize_codes(const In* a, std::size_t count, const rescaling& p, Out* y) noexcept {
    for (std::size_t i = 0; i != count; ++i) y[i] = static_cast<Out>(p(std::int64_t{a[i]} - p.a_zero_point));
}

/// y[i] = rescaled a[i] * b[i], for `count` codes of 16 bits: multiplier and shift are those of a_scale * b_scale /
/// y_scale. y may be a or b.
template <class Arch>
void mul_int16(const std::int16_t* a, const std::int16_t* b, std::size_t count, const rescaling& p,
               std::int16_t* y) noexcept {
    for (std::size_t i = 0; i != count; ++i) y[i] = static_cast<std::int16_t>(p(std::int64_t{a[i]} * b[i]));
}

}  // namespace zp::inline v0::kernel
