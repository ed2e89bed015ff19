// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of quantized weights and float activations: an image is quantized as it comes, by one symmetric range, so
// that zero padding is code 0 whatever the range.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>

namespace zp::inline v0::kernel {

/// The codes of an image.
inline constexpr code_limits dynamic_conv2d_limits{-128, 127};
inline constexpr activation_codes dynamic_conv2d_codes{0, dynamic_conv2d_limits.min, dynamic_conv2d_limits.max};

/// Where the parts of the scratch lie: the image's codes, then what the product needs.
template <class Arch> struct dynamic_conv2d_scratch {
    std::size_t product, bytes;

    constexpr explicit dynamic_conv2d_scratch(const conv2d_geometry& g)
        : product(align_up(static_cast<std::size_t>(g.in.size()))),
          bytes(product + implicit_gemm_plan<Arch>(g).scratch_bytes) {}
};

/// Packs `weights` (out, height, width, in/groups; their bias is not read), one scale and one float bias a channel.
template <class Arch, class Weight>
void pack_dynamic_conv2d(const conv2d_geometry& g, bool words, conv2d_weights<Weight> weights, const float* scales,
                         const float* bias, std::byte* packed) {
    const dynamic_layout<Arch> layout(g, words);
    std::int32_t* sums = pack_dynamic(layout, g, weights, scales, bias, dynamic_conv2d_codes, packed);
    std::fill_n(sums, g.out.channels, 0);  // the zero point is 0
}

/// y = dequantize(conv2d(quantize(x), w)) + bias: NHWC in and out, both floats. One range for the image,
/// `choose(low, high)` making a scale of it, with zero point 0. `scratch` has dynamic_conv2d_scratch::bytes bytes, 64-byte
/// aligned.
template <class Arch, class Choose>
void dynamic_conv2d(const conv2d_geometry& g, bool words, const float* x, const Choose& choose, const std::byte* packed,
                    float* y, std::byte* scratch) noexcept {
    const dynamic_layout<Arch> layout(g, words);
    auto* codes = reinterpret_cast<std::int8_t*>(scratch);
    const dynamic_range range =
        dynamic_quantize<Arch>(x, static_cast<std::size_t>(g.in.size()), dynamic_conv2d_limits, choose, codes);
    implicit_gemm<Arch>(g, codes, dynamic_conv2d_codes, packed, dynamic_epilogue(layout, packed, range), y,
                        scratch + dynamic_conv2d_scratch<Arch>(g).product);
}

}  // namespace zp::inline v0::kernel
