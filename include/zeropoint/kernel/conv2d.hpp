// Quantized 2-D convolution, and linear layers as its 1x1 case: the doors that layers call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/conv2d_choice.hpp>
#include <zeropoint/kernel/depthwise.hpp>
#include <zeropoint/kernel/direct.hpp>
#include <zeropoint/kernel/dispatch.hpp>
#include <zeropoint/kernel/geometry.hpp>
#include <zeropoint/kernel/implicit_gemm.hpp>
#include <zeropoint/kernel/pack.hpp>
#include <zeropoint/kernel/requantize.hpp>
#include <zeropoint/kernel/winograd.hpp>

// Results are exact in int32 for all operands: whoever makes a layer checks that bias + depth * 255 * 255 (or the
// tighter bound of its dtypes) fits. Weights are packed once; the packed form is the only one a model keeps, and
// unpacks for saving.

namespace zp {
inline namespace v0 {
namespace kernel {

/// Bytes of packed weights and bias, a multiple of 64. `affine_weights` as conv2d_weights::affine says.
template <class Arch>
constexpr std::size_t conv2d_packed_bytes(const conv2d_geometry& g, conv2d_algorithm algorithm, bool affine_weights) {
    switch (resolve<Arch>(g, algorithm)) {
        case conv2d_algorithm::depthwise: return depthwise_layout<Arch>(g).bytes;
        case conv2d_algorithm::direct: return direct_packed_bytes(g);
        case conv2d_algorithm::winograd_4x4: return winograd_layout<Arch>(g, winograd_4x4::method).bytes;
        case conv2d_algorithm::winograd_2x2: return winograd_layout<Arch>(g, winograd_2x2::method).bytes;
        default: return panel_layout<Arch>(g, affine_weights).bytes;
    }
}

/// Bytes of scratch for one call, a multiple of 64.
template <class Arch> constexpr std::size_t conv2d_scratch_bytes(const conv2d_geometry& g, conv2d_algorithm algorithm) {
    switch (resolve<Arch>(g, algorithm)) {
        case conv2d_algorithm::depthwise: return depthwise_plan<Arch>(g).scratch_bytes;
        case conv2d_algorithm::direct: return 0;
        case conv2d_algorithm::winograd_4x4: return winograd_plan<Arch>(g, winograd_4x4::method).scratch_bytes;
        case conv2d_algorithm::winograd_2x2: return winograd_plan<Arch>(g, winograd_2x2::method).scratch_bytes;
        default: return implicit_gemm_plan<Arch>(g).scratch_bytes;
    }
}

/// Packs weights and bias into conv2d_packed_bytes bytes at a 64-byte boundary. The kernel of each panel is chosen
/// from its weights and from `codes`, which conv2d must then be called with.
template <class Arch, class Weight>
void pack_conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, const conv2d_weights<Weight>& weights,
                 activation_codes codes, std::byte* packed) {
    switch (resolve<Arch>(g, algorithm)) {
        case conv2d_algorithm::depthwise: return pack_depthwise<Arch>(g, weights, codes, packed);
        case conv2d_algorithm::direct: return pack_direct<Arch>(g, weights, packed);
        case conv2d_algorithm::winograd_4x4:
            return pack_winograd<Arch>(g, winograd_4x4::method, weights, codes, packed);
        case conv2d_algorithm::winograd_2x2:
            return pack_winograd<Arch>(g, winograd_2x2::method, weights, codes, packed);
        default: return pack_panels<Arch>(g, weights, codes, packed);
    }
}

/// The exact inverse of pack_conv2d, given the same arguments: OHWI weights, and one bias a channel (zeros where none
/// was given). `affine_weights` and the zero points are those of the weights that were packed.
template <class Arch, class Weight>
void unpack_conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, [[maybe_unused]] bool affine_weights,
                   const std::int32_t* zero_points, activation_codes codes, const std::byte* packed, Weight* values,
                   std::int32_t* bias) {
    switch (resolve<Arch>(g, algorithm)) {
        case conv2d_algorithm::depthwise: return unpack_depthwise<Arch>(g, zero_points, codes, packed, values, bias);
        case conv2d_algorithm::direct: return unpack_direct<Arch>(g, zero_points, packed, values, bias);
        case conv2d_algorithm::winograd_4x4:
            return unpack_winograd<Arch>(g, winograd_4x4::method, zero_points, packed, values, bias);
        case conv2d_algorithm::winograd_2x2:
            return unpack_winograd<Arch>(g, winograd_2x2::method, zero_points, packed, values, bias);
        default: return unpack_panels<Arch>(g, zero_points, codes, packed, values, bias);
    }
}

/// y = epilogue(bias + sum (x - x_zero_point) * (w - w_zero_point)): NHWC in, NHWC out, see requantize.hpp for
/// epilogues. x has in.size() codes, y receives out.size() values; nothing beyond either is touched. `scratch` has
/// conv2d_scratch_bytes bytes at a 64-byte boundary, `packed` comes from pack_conv2d with the same geometry, algorithm
/// and codes.
template <class Arch, class In, class Out, class Epilogue>
void conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, const In* x, activation_codes codes,
            const std::byte* packed, const Epilogue& epilogue, Out* y, std::byte* scratch) noexcept {
    static_assert(std::is_same_v<In, std::uint8_t> || std::is_same_v<In, std::int8_t>,
                  "conv2d<Arch, In>: In must be std::uint8_t or std::int8_t, the storage of 8-bit activations");
    switch (resolve<Arch>(g, algorithm)) {
        case conv2d_algorithm::depthwise: return depthwise_conv2d<Arch>(g, x, codes, packed, epilogue, y, scratch);
        case conv2d_algorithm::direct: return direct_conv2d<Arch>(g, x, codes, packed, epilogue, y);
        case conv2d_algorithm::winograd_4x4:
            return winograd_conv2d<Arch>(g, winograd_transforms_of<Arch, winograd_4x4>, x, codes, packed, epilogue, y,
                                         scratch);
        case conv2d_algorithm::winograd_2x2:
            return winograd_conv2d<Arch>(g, winograd_transforms_of<Arch, winograd_2x2>, x, codes, packed, epilogue, y,
                                         scratch);
        default: return implicit_gemm<Arch>(g, x, codes, packed, epilogue, y, scratch);
    }
}

/// What a packed convolution does, for printing a model. Panels are counted by kernel for implicit_gemm and
/// depthwise.
struct conv2d_description {
    conv2d_algorithm algorithm;
    const char* primitives;     ///< the instruction set of the tiles
    int panels[panel_kernels];  ///< how many took each panel_kernel
    int split_panels;           ///< of Winograd's, those whose input channels are in several parts to keep sums exact
};

template <class Arch>
conv2d_description describe_conv2d(const conv2d_geometry& g, conv2d_algorithm algorithm, const std::byte* packed) {
    conv2d_description description{resolve<Arch>(g, algorithm), operations<Arch>::name, {}, 0};
    if (description.algorithm == conv2d_algorithm::implicit_gemm) {
        const packed_panels<Arch> panels(g, packed);
        for (int panel = 0; panel != panels.layout.panels; ++panel)
            ++description.panels[static_cast<int>(panels.kernel(panel))];
    } else if (description.algorithm == conv2d_algorithm::depthwise) {
        const packed_depthwise<Arch> panels(g, packed);
        for (int panel = 0; panel != panels.layout.panels; ++panel)
            ++description.panels[static_cast<int>(panels.kernel(panel))];
    }
    const auto count_split = [&](const winograd_method& method) {
        const winograd_weights<Arch> weights(g, method, packed);
        for (int panel = 0; panel != weights.layout.panels; ++panel)
            description.split_panels += *weights.ends(panel) != weights.layout.depth;
    };
    if (description.algorithm == conv2d_algorithm::winograd_4x4) count_split(winograd_4x4::method);
    if (description.algorithm == conv2d_algorithm::winograd_2x2) count_split(winograd_2x2::method);
    return description;
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
