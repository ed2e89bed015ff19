// Floats to codes and back, over arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// The definition, for one value: clamp(rne(x * inverse_scale) + zero_point, quant_min, quant_max), NaN gives
/// zero_point. The clamp comes before the rounding, in a floating point type that holds every bound exactly: the result
/// is the same, because the bounds are integers, and no value is out of range when it becomes an integer.
template <class Arch, class Q>
Q quantize_one(float x, float inverse_scale, std::int32_t zero_point, std::int32_t quant_min,
               std::int32_t quant_max) noexcept {
    using wide = std::conditional_t<sizeof(Q) <= 2, float, double>;
    const wide low = static_cast<wide>(quant_min) - static_cast<wide>(zero_point);
    const wide high = static_cast<wide>(quant_max) - static_cast<wide>(zero_point);
    wide scaled = static_cast<wide>(x * inverse_scale);
    if (!(scaled == scaled)) scaled = 0;
    scaled = scaled < low ? low : scaled > high ? high : scaled;
    return static_cast<Q>(round_half_even(scaled) + zero_point);
}

/// q[i] = clamp(rne(x[i] * (1 / scale)) + zero_point, quant_min, quant_max) for `count` values; NaN gives zero_point
/// and an infinity the end of the range. scale > 0; quant_min <= zero_point <= quant_max, within the range of `Q` (8,
/// 16 or 32 bits, the latter without vectors). The product is a float's, as in FBGEMM. Assumes the default rounding
/// mode.
template <class Arch, class Q>
void quantize(const float* x, std::size_t count, float scale, std::int32_t zero_point, std::int32_t quant_min,
              std::int32_t quant_max, Q* q) noexcept {
    const float inverse_scale = 1.0f / scale;
    std::size_t i = 0;
    if constexpr (has_ieee_vectors<Arch> && code8<Q>) {
        using floats = xsimd::batch<float, Arch>;
        using ints = xsimd::batch<std::int32_t, Arch>;
        constexpr std::size_t step = 4 * floats::size;
        const floats multiplier(inverse_scale), zero(0.0f);
        const floats low(static_cast<float>(quant_min - zero_point)), high(static_cast<float>(quant_max - zero_point));
        const ints offset(zero_point);
        const auto codes_at = [&](const float* from) {
            const floats scaled = floats::load_unaligned(from) * multiplier;
            const floats number = xsimd::select(scaled == scaled, scaled, zero);
            return round_to_nearest(xsimd::min(xsimd::max(number, low), high)) + offset;
        };
        for (; i + step <= count; i += step) {
            const float* from = x + i;
            store_consecutive<Arch>(q + i, {codes_at(from), codes_at(from + floats::size),
                                            codes_at(from + 2 * floats::size), codes_at(from + 3 * floats::size)});
        }
    }
    if constexpr (has_ieee_vectors<Arch> && sizeof(Q) == 2) {
        using floats = xsimd::batch<float, Arch>;
        const floats multiplier(inverse_scale), zero(0.0f);
        const floats low(static_cast<float>(quant_min - zero_point)), high(static_cast<float>(quant_max - zero_point));
        alignas(64) std::int32_t codes[floats::size];
        for (; i + floats::size <= count; i += floats::size) {
            const floats scaled = floats::load_unaligned(x + i) * multiplier;
            const floats number = xsimd::select(scaled == scaled, scaled, zero);
            round_to_nearest(xsimd::min(xsimd::max(number, low), high)).store_unaligned(codes);
            for (std::size_t k = 0; k != floats::size; ++k) q[i + k] = static_cast<Q>(codes[k] + zero_point);
        }
    }
    for (; i != count; ++i) q[i] = quantize_one<Arch, Q>(x[i], inverse_scale, zero_point, quant_min, quant_max);
}

/// y[i] = scale * float(q[i] - zero_point) for `count` codes of 8, 16 or 32 bits.
template <class Arch, class Q>
void dequantize(const Q* q, std::size_t count, float scale, std::int32_t zero_point, float* y) noexcept {
    std::size_t i = 0;
    if constexpr (has_ieee_vectors<Arch> && code8<Q>) {
        using floats = xsimd::batch<float, Arch>;
        constexpr std::size_t step = 4 * floats::size;
        const xsimd::batch<std::int32_t, Arch> offset(zero_point);
        const floats multiplier(scale);
        for (; i + step <= count; i += step) {
            const auto codes = load_consecutive<Arch>(q + i);
            unroll<4>([&](auto part) __attribute__((always_inline)) {
                (xsimd::to_float(codes[part] - offset) * multiplier).store_unaligned(y + i + part * floats::size);
            });
        }
    }
    using difference = std::conditional_t<sizeof(Q) <= 2, std::int32_t, std::int64_t>;
    for (; i != count; ++i)
        y[i] = scale * static_cast<float>(static_cast<difference>(q[i]) - static_cast<difference>(zero_point));
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

}  // namespace kernel
}  // namespace v0
}  // namespace zp
