// SPDX-License-Identifier: BSD-3-Clause
// Floats to codes and back, over arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// q[i] = clamp(rne(x[i] * (1 / scale)) + zero_point, quant_min, quant_max) for `count` values; NaN gives zero_point
/// and an infinity the end of the range. scale > 0; quant_min <= zero_point <= quant_max, within the range of `Q` (8,
/// 16 or 32 bits, the latter without vectors). The product is a float's, as in FBGEMM. Assumes the default rounding
/// mode.
template <class Arch, class Q>
void quantize(const float* x, std::size_t count, float scale, std::int32_t zero_point, std::int32_t quant_min,
              std::int32_t quant_max, Q* q) noexcept {
    const float inverse_scale = 1.0f / scale;
    const auto nearest = [ =, range = code_range(quant_min, quant_max, zero_point) ](const auto& value, std::size_t)
        __attribute__((always_inline)) {
        using Number = std::remove_cvref_t<decltype(value)>;
        const Number scaled = value * inverse_scale;
        return range.nearest(choose_number(scaled == scaled, scaled, Number(0.0f)));
    };
    if constexpr (code8<Q>) {
        map_in_order<ieee_vectors<Arch>, true>(
            x, count, q, [=](const auto& value, std::size_t i) __attribute__((always_inline)) {
                using Number = std::remove_cvref_t<decltype(value)>;
                if constexpr (has_vectors<ieee_vectors<Arch>>) {
                    // A single value as a vector, which has an instruction for rounding.
                    if constexpr (std::is_same_v<Number, float>)
                        return nearest(xsimd::batch<float, ieee_vectors<Arch>>(value), i).get(0);
                    else return nearest(value, i);
                } else {
                    return nearest(value, i);
                }
            });
    } else if constexpr (sizeof(Q) == 2) {
        for_each_number<Arch>(
            count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                constexpr std::size_t lanes = std::is_same_v<Number, float> ? 1 : vector_size<float, Arch>;
                alignas(64) std::int32_t codes[lanes];
                store_number(nearest(load_number<Number>(x + i), i), codes);
                for (std::size_t k = 0; k != lanes; ++k) q[i + k] = static_cast<Q>(codes[k]);
            });
    } else {  // bounds that no float holds
        const double low = double(quant_min) - zero_point, high = double(quant_max) - zero_point;
        for (std::size_t i = 0; i != count; ++i) {
            const double scaled = static_cast<double>(x[i] * inverse_scale);
            q[i] = static_cast<Q>(round_half_even(std::clamp(scaled == scaled ? scaled : 0.0, low, high)) + zero_point);
        }
    }
}

/// y[i] = scale * float(q[i] - zero_point) for `count` codes of 8, 16 or 32 bits.
template <class Arch, class Q>
void dequantize(const Q* q, std::size_t count, float scale, std::int32_t zero_point, float* y) noexcept {
    if constexpr (code8<Q>) {
        const auto value = [=](const auto& code, std::size_t) __attribute__((always_inline)) {
            return float_of(code - zero_point) * scale;
        };
        map_in_order<ieee_vectors<Arch>, true>(q, count, y, value);
    } else {
        using difference = std::conditional_t<sizeof(Q) <= 2, std::int32_t, std::int64_t>;
        for (std::size_t i = 0; i != count; ++i)
            y[i] = scale * static_cast<float>(static_cast<difference>(q[i]) - static_cast<difference>(zero_point));
    }
}

/// quantize() with a scale and a zero point for each of `channels` runs of `inner` values: weights as
/// [out_channels][everything else]. `zero_points` may be null: all zero.
template <class Arch, class Q>
void quantize_per_channel(const float* x, std::size_t channels, std::size_t inner, const float* scales,
                          const std::int32_t* zero_points, std::int32_t quant_min, std::int32_t quant_max,
                          Q* q) noexcept {
    for (std::size_t c = 0; c != channels; ++c)
        quantize<Arch, Q>(x + c * inner, inner, scales[c], zero_points == nullptr ? 0 : zero_points[c], quant_min,
                          quant_max, q + c * inner);
}

/// dequantize() with a scale and a zero point for each of `channels` runs of `inner` codes; `zero_points` may be null.
template <class Arch, class Q>
void dequantize_per_channel(const Q* q, std::size_t channels, std::size_t inner, const float* scales,
                            const std::int32_t* zero_points, float* y) noexcept {
    for (std::size_t c = 0; c != channels; ++c)
        dequantize<Arch, Q>(q + c * inner, inner, scales[c], zero_points == nullptr ? 0 : zero_points[c],
                            y + c * inner);
}

}  // namespace zp::inline v0::kernel
