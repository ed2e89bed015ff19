// SPDX-License-Identifier: BSD-3-Clause
// Quantized 2-D convolution, and linear layers as its 1x1 case, by an algorithm that is known when the program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/convolution/conv2d_kernels.hpp>

// A model knows its algorithms when it is compiled and takes conv2d_kernels, of which it compiles what it uses.

namespace zp::inline v0::kernel {

/// visit(conv2d_kernels<Arch, A>()) for the algorithm A that `algorithm` is, or that `automatic` stands for.
template <class Arch, class Visit>
constexpr decltype(auto) with_conv2d_kernels(const conv2d_geometry& g, conv2d_algorithm algorithm, Visit&& visit) {
    switch (resolve<Arch>(g, algorithm)) {
        case conv2d_algorithm::depthwise: return visit(conv2d_kernels<Arch, conv2d_algorithm::depthwise>());
        case conv2d_algorithm::direct: return visit(conv2d_kernels<Arch, conv2d_algorithm::direct>());
        case conv2d_algorithm::winograd_4x4: return visit(conv2d_kernels<Arch, conv2d_algorithm::winograd_4x4>());
        case conv2d_algorithm::winograd_2x2: return visit(conv2d_kernels<Arch, conv2d_algorithm::winograd_2x2>());
        default: return visit(conv2d_kernels<Arch, conv2d_algorithm::implicit_gemm>());
    }
}

/// Bytes of packed weights and bias, a multiple of 64. `affine_weights` as conv2d_weights::affine says.
template <class Arch>
constexpr std::size_t conv2d_packed_bytes(const conv2d_geometry& g, conv2d_algorithm algorithm, bool affine_weights) {
    return with_conv2d_kernels<Arch>(g, algorithm,
                                     [&](auto kernels) { return kernels.packed_bytes(g, affine_weights); });
}

/// Bytes of scratch for one call, a multiple of 64.
template <class Arch> constexpr std::size_t conv2d_scratch_bytes(const conv2d_geometry& g, conv2d_algorithm algorithm) {
    return with_conv2d_kernels<Arch>(g, algorithm, [&](auto kernels) { return kernels.scratch_bytes(g); });
}

/// Packs weights and bias into conv2d_packed_bytes bytes at a 64-byte boundary. The kernel of each panel is chosen
/// from its weights and from `codes`, which conv2d must then be called with.
template <class Arch, class Weight>
void pack_conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, const conv2d_weights<Weight>& weights,
                 activation_codes codes, std::byte* packed) {
    with_conv2d_kernels<Arch>(g, algorithm, [&](auto kernels) { kernels.pack(g, weights, codes, packed); });
}

/// The exact inverse of pack_conv2d, given the same arguments: OHWI weights, and one bias a channel (zeros where none
/// was given). The zero points are those of the weights that were packed.
template <class Arch, class Weight>
void unpack_conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, const std::int32_t* zero_points,
                   activation_codes codes, const std::byte* packed, Weight* values, std::int32_t* bias) {
    with_conv2d_kernels<Arch>(g, algorithm,
                              [&](auto kernels) { kernels.unpack(g, zero_points, codes, packed, values, bias); });
}

/// y = epilogue(bias + sum (x - x_zero_point) * (w - w_zero_point)): NHWC in, NHWC out, see requantize.hpp for
/// epilogues. x has in.size() codes, y receives out.size() values; nothing beyond either is touched. `scratch` has
/// conv2d_scratch_bytes bytes at a 64-byte boundary, `packed` comes from pack_conv2d with the same geometry, algorithm
/// and codes. Codes of 16 bits, int16 with zero point 0, take an algorithm that supports_int16() names, biases of int64, and
/// a requantize_int16 with them; unpacking leaves their biases to it.
template <class Arch, class In, class Out, class Epilogue>
void conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, const In* x, activation_codes codes,
            const std::byte* packed, const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
    static_assert(
        std::is_same_v<In, std::uint8_t> || std::is_same_v<In, std::int8_t> || std::is_same_v<In, std::int16_t>,
        "conv2d<Arch, In>: In must be std::uint8_t or std::int8_t, the storage of 8-bit activations, or "
        "std::int16_t, that of 16-bit ones");
    with_conv2d_kernels<Arch>(g, algorithm, [&](auto kernels) {
        if constexpr (sizeof(In) == 1 || !kernels.is_winograd) kernels.run(g, x, codes, packed, epilogue, y, scratch);
    });
}

/// What a packed convolution does.
template <class Arch>
conv2d_description describe_conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, const std::byte* packed) {
    return with_conv2d_kernels<Arch>(g, algorithm, [&](auto kernels) { return kernels.describe(g, packed); });
}

}  // namespace zp::inline v0::kernel
