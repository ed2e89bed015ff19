// SPDX-License-Identifier: BSD-3-Clause
// Real numbers to integer codes and back, one value at a time: this code is the specification.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp::inline v0 {

/// clamp(rne(x * (1 / scale)) + zero_point, quant_min, quant_max), with rne rounding half to even. The product with the
/// rounded reciprocal, not a division, is the definition (FBGEMM's and ATen's: one ulp decides ties). Clamping comes
/// before the conversion to integer, so every x has a defined code: infinities the outermost ones, NaN the zero point.
constexpr std::int32_t quantize(float x, const qparams& params, std::int32_t quant_min, std::int32_t quant_max) {
    const float steps = x * (1.0f / params.scale);
    if (steps != steps) return params.zero_point;
    // In double the bounds are exact for all dtypes; in float, as vector code has them, for those of up to 16 bits.
    const double lowest = static_cast<double>(quant_min) - params.zero_point;
    const double highest = static_cast<double>(quant_max) - params.zero_point;
    const double clamped = std::clamp(static_cast<double>(steps), lowest, highest);
    return static_cast<std::int32_t>(round_half_even(clamped) + params.zero_point);
}
/// The same where floats hold the bounds, which are those of dtypes of up to 16 bits: without doubles, for which microcontrollers have
/// no instructions.
constexpr std::int32_t quantize_narrow(float x, const qparams& params, std::int32_t quant_min, std::int32_t quant_max) {
    const float steps = x * (1.0f / params.scale);
    if (steps != steps) return params.zero_point;
    const auto lowest = static_cast<float>(quant_min - params.zero_point);
    const auto highest = static_cast<float>(quant_max - params.zero_point);
    return round_half_even(std::clamp(steps, lowest, highest)) + params.zero_point;
}
template <quantized_dtype DType> constexpr typename DType::storage quantize(float x, const qparams& params) {
    return static_cast<typename DType::storage>(quantize(x, params, DType::quant_min, DType::quant_max));
}

/// scale * (code - zero_point), rounded once.
constexpr float dequantize(std::int32_t code, const qparams& params) {
    return params.scale * static_cast<float>(std::int64_t{code} - params.zero_point);
}

/// The value that quantizing makes of x.
template <quantized_dtype DType> constexpr float fake_quantize(float x, const qparams& params) {
    return dequantize(quantize<DType>(x, params), params);
}

/// Spans must be equally long; else a shape_error.
constexpr void require_same_size(std::size_t from, std::size_t to, const char* function) {
    if (from != to)
        raise<shape_error>(std::string(function) + ": input has " + std::to_string(from) + " values, output " +
                           std::to_string(to));
}

/// Per tensor: every value with the same scale and zero point.
template <quantized_dtype DType>
constexpr void quantize(std::span<const float> values, const qparams& params,
                        std::span<typename DType::storage> codes) {
    require_same_size(values.size(), codes.size(), "quantize");
    for (std::size_t i = 0; i != values.size(); ++i) codes[i] = quantize<DType>(values[i], params);
}
template <quantized_dtype DType>
constexpr void dequantize(std::span<const typename DType::storage> codes, const qparams& params,
                          std::span<float> values) {
    require_same_size(codes.size(), values.size(), "dequantize");
    for (std::size_t i = 0; i != codes.size(); ++i) values[i] = dequantize(codes[i], params);
}

/// Per channel: value i has the scale and zero point of channel (i / inner) % channels, where `inner` is the number of
/// consecutive values of one channel (all of a filter for weights, 1 for NHWC activations). Groups are channels too:
/// `inner` is the group's size, and there are as many params as groups.
template <quantized_dtype DType>
constexpr void quantize_per_channel(std::span<const float> values, std::span<const qparams> channels, std::size_t inner,
                                    std::span<typename DType::storage> codes) {
    require_same_size(values.size(), codes.size(), "quantize_per_channel");
    for (std::size_t i = 0; i != values.size(); ++i)
        codes[i] = quantize<DType>(values[i], channels[i / inner % channels.size()]);
}
/// Codes to values, channel by channel: `inner` values of one channel follow each other. Sizes as in
/// quantize_per_channel.
template <quantized_dtype DType>
constexpr void dequantize_per_channel(std::span<const typename DType::storage> codes, std::span<const qparams> channels,
                                      std::size_t inner, std::span<float> values) {
    require_same_size(codes.size(), values.size(), "dequantize_per_channel");
    for (std::size_t i = 0; i != codes.size(); ++i)
        values[i] = dequantize(codes[i], channels[i / inner % channels.size()]);
}

}  // namespace zp::inline v0
