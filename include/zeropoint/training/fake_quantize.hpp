// SPDX-License-Identifier: BSD-3-Clause
// Fake quantization of arrays: the values that codes have, as floats, and the straight-through gradient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/gradient/fake_quantize.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/scheme/bias.hpp>
#include <zeropoint/scheme/qparams.hpp>

// PyTorch's fake_quantize_per_tensor_affine and fake_quantize_per_channel_affine (ATen/native/quantized/cpu/kernels): x is
// multiplied by 1 / scale, rounded half to even, and then the zero point is added. What zeropoint does otherwise:
// docs/training_parity.md.

namespace zp::inline v0 {

/// The codes that values may take: quant_min <= 0 <= quant_max, at most 16 bits.
struct code_bounds {
    std::int32_t quant_min, quant_max;

    constexpr bool operator==(const code_bounds&) const = default;
};
template <quantized_dtype DType> inline constexpr code_bounds bounds_of{DType::quant_min, DType::quant_max};

/// Calls body(first, count, c) for the runs of values of one channel: value i belongs to channel (i / inner) % channels, as in an
/// observation. One channel is one run, whatever inner is.
template <class Body> void for_each_run(std::size_t count, std::size_t channels, std::size_t inner, const Body& body) {
    if (channels == 1) {
        body(std::size_t{0}, count, std::size_t{0});
        return;
    }
    std::size_t c = 0;
    for (std::size_t first = 0; first != count; first += inner) {
        body(first, inner, c);
        if (++c == channels) c = 0;
    }
}

/// A shape_error where `count` values are not whole rows of channels x inner; a value_error where qparams are not valid.
inline void require_fake_quantizable(std::size_t count, std::span<const qparams> channels, std::size_t inner,
                                     code_bounds bounds, const char* function) {
    if (channels.empty() || inner == 0 || (channels.size() != 1 && count % (channels.size() * inner) != 0))
        raise<shape_error>(std::string(function) + ": expected whole rows of " + std::to_string(channels.size()) +
                           " channels x " + std::to_string(inner) + " values, got " + std::to_string(count) +
                           " values");
    if (bounds.quant_min > 0 || bounds.quant_max < 0 || bounds.quant_min < -32768 || bounds.quant_max > 65535)
        raise<value_error>(std::string(function) + ": expected codes of at most 16 bits around 0, got " +
                           std::to_string(bounds.quant_min) + " to " + std::to_string(bounds.quant_max));
    for (std::size_t c = 0; c != channels.size(); ++c)
        if (!is_valid(channels[c], bounds.quant_min, bounds.quant_max))
            raise<value_error>(std::string(function) + ": channel " + std::to_string(c) + " has scale " +
                               number_text(channels[c].scale) + " and zero point " +
                               std::to_string(channels[c].zero_point) +
                               ", expected a finite positive scale and a zero point from " +
                               std::to_string(bounds.quant_min) + " to " + std::to_string(bounds.quant_max));
}

inline void require_equal_sizes(std::size_t expected, std::size_t got, const char* function, const char* name) {
    if (expected != got)
        raise<shape_error>(std::string(function) + ": expected " + std::to_string(expected) + " values of " + name +
                           ", got " + std::to_string(got));
}

/// y[i] = dequantize(quantize(x[i])): what the converted network computes with. mask[i], where there is a mask, says whether the
/// code needed no clamping (1), or was clamped (0); NaN gives 0 and is masked. `channels`: one qparams for the tensor, else one
/// a channel, value i belonging to channel (i / inner) % channels.size(): inner is 1 for NHWC activations, all of a filter for
/// weights. y may be x.
template <class Arch = default_architecture>
void fake_quantize(std::span<const float> x, std::span<const qparams> channels, std::size_t inner, code_bounds bounds,
                   std::span<float> y, std::span<std::uint8_t> mask = {}) {
    require_fake_quantizable(x.size(), channels, inner, bounds, "fake_quantize");
    require_equal_sizes(x.size(), y.size(), "fake_quantize", "y");
    if (!mask.empty()) require_equal_sizes(x.size(), mask.size(), "fake_quantize", "the mask");
    for_each_run(x.size(), channels.size(), inner, [&](std::size_t first, std::size_t count, std::size_t c) {
        const kernel::fake_quantizer by(channels[c].scale, channels[c].zero_point, bounds.quant_min, bounds.quant_max);
        if (mask.empty()) kernel::fake_quantize<Arch>(x.data() + first, count, by, y.data() + first);
        else kernel::fake_quantize<Arch>(x.data() + first, count, by, y.data() + first, mask.data() + first);
    });
}
/// Per tensor.
template <class Arch = default_architecture>
void fake_quantize(std::span<const float> x, const qparams& params, code_bounds bounds, std::span<float> y,
                   std::span<std::uint8_t> mask = {}) {
    fake_quantize<Arch>(x, std::span(&params, 1), 1, bounds, y, mask);
}

/// dx[i] = mask[i] ? dy[i] : 0; scale and zero point get nothing. dx may be dy.
template <class Arch = default_architecture>
void fake_quantize_backward(std::span<const float> dy, std::span<const std::uint8_t> mask, std::span<float> dx) {
    require_equal_sizes(dy.size(), mask.size(), "fake_quantize_backward", "the mask");
    require_equal_sizes(dy.size(), dx.size(), "fake_quantize_backward", "dx");
    kernel::fake_quantize_backward<Arch>(dy.data(), mask.data(), dy.size(), dx.data());
}

/// The bias that the converted layer adds: quantize_bias(bias) steps of x_scale * weight_scale, in double, rounded to float once.
/// Its gradient passes as it is; what does not fit is quantize_bias's value_error, before which convert raises the weight scale.
constexpr float fake_quantize_bias(float bias, float x_scale, float weight_scale) {
    const double step = static_cast<double>(x_scale) * weight_scale;  // exact: two floats
    return static_cast<float>(quantize_bias(bias, x_scale, weight_scale) * step);
}

}  // namespace zp::inline v0
