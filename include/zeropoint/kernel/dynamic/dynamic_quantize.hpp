// SPDX-License-Identifier: BSD-3-Clause
// Floats to codes by a range of their own, found as they come: the activations of dynamic quantization.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/dynamic/quantize.hpp>
#include <zeropoint/kernel/epilogue/apply_epilogue.hpp>
#include <zeropoint/kernel/reduction/float_statistics.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// How codes that were quantized at run time read: real = scale * (code - zero_point).
struct dynamic_range {
    float scale = 1;
    std::int32_t zero_point = 0;
};

/// The codes that activations may take.
struct code_limits {
    std::int32_t min = 0, max = 255;
};

/// Whether a scale can be used: false for NaN and infinity too.
constexpr bool is_usable(float scale) { return scale > 0 && scale <= std::numeric_limits<float>::max(); }

/// The range of values that lie in [min, max], `choose(low, high)` having the last word: it gets low <= 0 <= high, both
/// finite, and returns something with `scale` and `zero_point`. Where a value was NaN or infinite, or the range is too
/// wide for a finite scale, the scale is NaN, so that all that is computed from the codes is NaN, as it would be in float.
template <class Choose>
dynamic_range choose_dynamic_range(const min_max_result& seen, std::size_t count, const Choose& choose) noexcept {
    constexpr dynamic_range undefined{not_a_number, 0};
    if (seen.first_not_finite != count) return undefined;
    const auto chosen = choose(std::min(seen.min, 0.0f), std::max(seen.max, 0.0f));
    return is_usable(chosen.scale) ? dynamic_range{chosen.scale, chosen.zero_point} : undefined;
}

/// quantize() to codes of 8 bits, of values that `range` was chosen for: none is NaN, and `largest` is their largest
/// magnitude.
template <class Arch, class Q>
void quantize_in_range(const float* x, std::size_t count, float largest, dynamic_range range, code_limits limits,
                       Q* q) noexcept {
    static_assert(sizeof(Q) == 1, "quantize_in_range: codes have 8 bits");
    if constexpr (operations<Arch>::has_batches && has_ieee_vectors<Arch>) {
        using ops = operations<Arch>;
        using real = typename ops::real;
        constexpr std::size_t lanes = ops::lanes, step = 4 * lanes;
        const real multiplier(1.0f / range.scale);
        const auto convert = [&](auto whole, const float* from, std::size_t size, Q* to)
            __attribute__((always_inline)) {
            const code_clamp<ops, Q> clamp({range.zero_point, limits.min, limits.max});
            for_each_overlapping(
                size, step, [&](std::size_t i) __attribute__((always_inline)) {
                    typename ops::int32 differences[4];
                    unroll<4>([&](auto part) __attribute__((always_inline)) {
                        differences[part] =
                            round_to_nearest(ops::template load<real>(from + i + part * lanes) * multiplier);
                    });
                    ops::store(reinterpret_cast<std::uint8_t*>(to + i), clamp.template operator()<whole>(differences));
                });
        };
        if (largest * (1.0f / range.scale) < 0x1p30f && count >= lanes / 2) {  // integers, clamped as bytes
            if (count < step) {
                float values[step] = {};
                Q codes[step];
                std::copy_n(x, count, values);
                convert(std::false_type(), values, step, codes);
                std::copy_n(codes, count, q);
            } else if (limits.max - limits.min == 255) convert(std::true_type(), x, count, q);
            else convert(std::false_type(), x, count, q);
            return;
        }
    }
    quantize<Arch, Q>(x, count, range.scale, range.zero_point, limits.min, limits.max, q);
}

/// Quantizes `count` floats by the range that they have together: one sweep for the range, one for the codes. With a scale
/// of NaN all codes are 0.
template <class Arch, class Q, class Choose>
dynamic_range dynamic_quantize(const float* x, std::size_t count, code_limits limits, const Choose& choose,
                               Q* q) noexcept {
    const min_max_result seen = min_max<Arch>(x, count);
    const dynamic_range range = choose_dynamic_range(seen, count, choose);
    if (is_usable(range.scale)) quantize_in_range<Arch>(x, count, std::max(-seen.min, seen.max), range, limits, q);
    else std::fill_n(q, count, Q{0});
    return range;
}

/// The same for each of `rows` rows of `count` floats: ranges[row] and the codes of a row depend on that row alone.
template <class Arch, class Q, class Choose>
void dynamic_quantize_rows(const float* x, std::size_t rows, std::size_t count, code_limits limits,
                           const Choose& choose, dynamic_range* ranges, Q* q) noexcept {
    for (std::size_t row = 0; row != rows; ++row, x += count, q += count)
        ranges[row] = dynamic_quantize<Arch, Q>(x, count, limits, choose, q);
}

}  // namespace zp::inline v0::kernel
