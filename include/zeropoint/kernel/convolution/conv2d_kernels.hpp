// SPDX-License-Identifier: BSD-3-Clause
// The kernels of one algorithm of a convolution, under one name: what a model instantiates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/convolution/conv2d_choice.hpp>
#include <zeropoint/kernel/convolution/conv2d_cut.hpp>
#include <zeropoint/kernel/convolution/direct_conv2d.hpp>
#include <zeropoint/kernel/depthwise/depthwise.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/gemm/implicit_gemm.hpp>
#include <zeropoint/kernel/gemm/pack_panels.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/winograd/winograd.hpp>

// Results are exact in int32 for all operands: whoever makes a layer checks that bias + depth * 255 * 255 (or the
// tighter bound of its dtypes) fits. Weights are packed once; the packed form is the only one a model keeps, and
// unpacks for saving. What each function takes and gives: conv2d.hpp, which calls it by a run-time algorithm.

namespace zp::inline v0::kernel {

/// What a layer can be computed by, `automatic` not being among them.
inline constexpr conv2d_algorithm conv2d_algorithms[] = {conv2d_algorithm::implicit_gemm, conv2d_algorithm::depthwise,
                                                         conv2d_algorithm::direct, conv2d_algorithm::winograd_4x4,
                                                         conv2d_algorithm::winograd_2x2};

/// What a packed convolution does, for printing a model. Panels are counted by kernel for implicit_gemm and
/// depthwise.
struct conv2d_description {
    conv2d_algorithm algorithm;
    const char* primitives;     ///< the instruction set of the tiles
    int panels[panel_kernels];  ///< how many took each panel_kernel
    int split_panels;           ///< of Winograd's, those whose input channels are in several parts to keep sums exact
};

/// All that there is of an algorithm; supports() says for which geometries.
template <class Arch, conv2d_algorithm Algorithm> struct conv2d_kernels {
    static_assert(Algorithm != conv2d_algorithm::automatic, "conv2d_kernels<Arch, Algorithm>: resolve() it first");
    static constexpr bool is_depthwise = Algorithm == conv2d_algorithm::depthwise,
                          is_direct = Algorithm == conv2d_algorithm::direct,
                          is_winograd = Algorithm == conv2d_algorithm::winograd_4x4 ||
                                        Algorithm == conv2d_algorithm::winograd_2x2;
    using winograd = std::conditional_t<Algorithm == conv2d_algorithm::winograd_4x4, winograd_4x4, winograd_2x2>;

    static constexpr std::size_t packed_bytes(const conv2d_geometry& g, [[maybe_unused]] bool affine_weights) {
        if constexpr (is_depthwise) return depthwise_layout<Arch>(g).bytes;
        else if constexpr (is_direct) return direct_packed_bytes(g);
        else if constexpr (is_winograd) return winograd_layout<Arch>(g, winograd::method).bytes;
        else return panel_layout<Arch>(g, affine_weights).bytes;
    }
    static constexpr std::size_t scratch_bytes(const conv2d_geometry& g) {
        if constexpr (is_depthwise) return depthwise_plan<Arch>(g).scratch_bytes;
        else if constexpr (is_direct) return 0;
        else if constexpr (is_winograd) return winograd_plan<Arch>(g, winograd::method).scratch_bytes;
        else return implicit_gemm_plan<Arch>(g).scratch_bytes;
    }

    /// What so many output rows or fewer need.
    static constexpr std::size_t most_scratch_bytes(const conv2d_geometry& g) {
        if constexpr (is_winograd) return winograd_plan<Arch>::of_most_rows(g, winograd::method).scratch_bytes;
        else if constexpr (Algorithm == conv2d_algorithm::implicit_gemm)
            return implicit_gemm_plan<Arch>::of_most_rows(g).scratch_bytes;
        else return scratch_bytes(g);
    }
    /// How a call is cut into several: see conv2d_cut.
    static constexpr conv2d_cut cut(const conv2d_geometry& g) { return cut_of_conv2d<Arch>(g, Algorithm); }

    template <class Weight>
    static void pack(const conv2d_geometry& g, const conv2d_weights<Weight>& weights,
                     [[maybe_unused]] activation_codes codes, std::byte* packed) {
        if constexpr (is_depthwise) pack_depthwise<Arch>(g, weights, codes, packed);
        else if constexpr (is_direct) pack_direct<Arch>(g, weights, packed);
        else if constexpr (is_winograd) pack_winograd<Arch>(g, winograd::method, weights, codes, packed);
        else pack_panels<Arch>(g, weights, codes, packed);
    }
    template <class Weight>
    static void unpack(const conv2d_geometry& g, const std::int32_t* zero_points,
                       [[maybe_unused]] activation_codes codes, const std::byte* packed, Weight* values,
                       std::int32_t* bias) {
        if constexpr (is_depthwise) unpack_depthwise<Arch>(g, zero_points, codes, packed, values, bias);
        else if constexpr (is_direct) unpack_direct<Arch>(g, zero_points, packed, values, bias);
        else if constexpr (is_winograd) unpack_winograd<Arch>(g, winograd::method, packed, values, bias);
        else unpack_panels<Arch>(g, zero_points, codes, packed, values, bias);
    }
    template <class In, class Out, class Epilogue>
    static void run(const conv2d_geometry& g, const In* x, activation_codes codes, const std::byte* packed,
                    const Epilogue& epilogue, Out* y, [[maybe_unused]] std::byte* scratch) noexcept {
        static_assert(sizeof(In) == 1 || !is_winograd, "conv2d_kernels::run: see supports_int16");
        if constexpr (is_depthwise) depthwise_conv2d<Arch>(g, x, codes, packed, epilogue, y, scratch);
        else if constexpr (is_direct) direct_conv2d<Arch>(g, x, codes, packed, epilogue, y);
        else if constexpr (is_winograd)
            winograd_conv2d<Arch>(g, winograd_transforms_of<Arch, winograd, In>, x, codes, packed, epilogue, y,
                                  scratch);
        else implicit_gemm<Arch>(g, x, codes, packed, epilogue, y, scratch);
    }

    static conv2d_description describe(const conv2d_geometry& g, const std::byte* packed) {
        conv2d_description description{Algorithm, operations<Arch>::name, {}, 0};
        const auto count_kernels = [&](const auto& panels) {
            for (int panel = 0; panel != panels.layout.panels; ++panel)
                ++description.panels[static_cast<int>(panels.kernel(panel))];
        };
        if constexpr (is_depthwise) count_kernels(packed_depthwise<Arch>(g, packed));
        else if constexpr (is_winograd) {
            const winograd_weights<Arch> weights(g, winograd::method, packed);
            for (int panel = 0; panel != weights.layout.panels; ++panel)
                description.split_panels += *weights.ends(panel) != weights.layout.depth;
        } else if constexpr (!is_direct) count_kernels(packed_panels<Arch>(g, packed));
        return description;
    }
};

}  // namespace zp::inline v0::kernel
