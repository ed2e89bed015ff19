// Convolutions of quantized weights and float activations: an image is quantized as it comes, by one symmetric range, so
// that zero padding is code 0 whatever the range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/kernel/dynamic/dynamic_linear.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// The codes of an image.
inline constexpr code_limits dynamic_conv2d_limits{-128, 127};
inline constexpr activation_codes dynamic_conv2d_codes{0, dynamic_conv2d_limits.min, dynamic_conv2d_limits.max};

/// Where the parts of a packed dynamic convolution lie: panels, then a scale, a sum (zero: see dynamic_to_float) and a bias
/// for each channel. `words` says that weights are packed as int16, as affine ones are.
template <class Arch> struct dynamic_conv2d_layout {
    std::size_t scales, sums, bias, bytes;

    constexpr dynamic_conv2d_layout(const conv2d_geometry& g, bool words)
        : scales(panel_layout<Arch>(g, words).bytes),
          sums(scales + array(g)),
          bias(sums + array(g)),
          bytes(bias + array(g)) {}

private:
    static constexpr std::size_t array(const conv2d_geometry& g) {
        return align_up(4 * static_cast<std::size_t>(g.out.channels));
    }
};

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
    const dynamic_conv2d_layout<Arch> layout(g, words);
    const std::size_t size = 4 * static_cast<std::size_t>(g.out.channels);
    weights.bias = nullptr;
    pack_panels<Arch>(g, weights, dynamic_conv2d_codes, packed);
    std::memcpy(packed + layout.scales, scales, size);
    std::memset(packed + layout.sums, 0, size);
    std::memcpy(packed + layout.bias, bias, size);
}

/// y = dequantize(conv2d(quantize(x), w)) + bias: NHWC in and out, both floats. One range for the image,
/// `choose(low, high)` making a scale of it, with zero point 0. `scratch` has dynamic_conv2d_scratch::bytes bytes, 64-byte
/// aligned.
template <class Arch, class Choose>
void dynamic_conv2d(const conv2d_geometry& g, bool words, const float* x, const Choose& choose, const std::byte* packed,
                    float* y, std::byte* scratch) noexcept {
    const dynamic_conv2d_layout<Arch> layout(g, words);
    auto* codes = reinterpret_cast<std::int8_t*>(scratch);
    const dynamic_range range =
        dynamic_quantize<Arch>(x, static_cast<std::size_t>(g.in.size()), dynamic_conv2d_limits, choose, codes);
    const dynamic_to_float epilogue{reinterpret_cast<const float*>(packed + layout.scales),
                                    reinterpret_cast<const std::int32_t*>(packed + layout.sums),
                                    reinterpret_cast<const float*>(packed + layout.bias), range};
    implicit_gemm<Arch>(g, codes, dynamic_conv2d_codes, packed, epilogue, y,
                        scratch + dynamic_conv2d_scratch<Arch>(g).product);
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
