// The kernels of one algorithm of a convolution: what a model instantiates, where the doors of conv2d.hpp have them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/conv2d.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// What a layer can be computed by, `automatic` not being among them.
inline constexpr conv2d_algorithm conv2d_algorithms[] = {conv2d_algorithm::implicit_gemm, conv2d_algorithm::depthwise,
                                                         conv2d_algorithm::direct, conv2d_algorithm::winograd_4x4,
                                                         conv2d_algorithm::winograd_2x2};

/// pack_conv2d, unpack_conv2d and conv2d, with the algorithm as a template argument.
template <class Arch, conv2d_algorithm Algorithm> struct conv2d_kernels {
    static_assert(Algorithm != conv2d_algorithm::automatic, "conv2d_kernels<Arch, Algorithm>: resolve() it first");
    static constexpr bool is_depthwise = Algorithm == conv2d_algorithm::depthwise,
                          is_direct = Algorithm == conv2d_algorithm::direct,
                          is_winograd = Algorithm == conv2d_algorithm::winograd_4x4 ||
                                        Algorithm == conv2d_algorithm::winograd_2x2;
    using winograd = std::conditional_t<Algorithm == conv2d_algorithm::winograd_4x4, winograd_4x4, winograd_2x2>;

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
        else if constexpr (is_winograd) unpack_winograd<Arch>(g, winograd::method, zero_points, packed, values, bias);
        else unpack_panels<Arch>(g, zero_points, codes, packed, values, bias);
    }
    template <class In, class Out, class Epilogue>
    static void run(const conv2d_geometry& g, const In* x, activation_codes codes, const std::byte* packed,
                    const Epilogue& epilogue, Out* y, [[maybe_unused]] std::byte* scratch) noexcept {
        if constexpr (is_depthwise) depthwise_conv2d<Arch>(g, x, codes, packed, epilogue, y, scratch);
        else if constexpr (is_direct) direct_conv2d<Arch>(g, x, codes, packed, epilogue, y);
        else if constexpr (is_winograd)
            winograd_conv2d<Arch>(g, winograd_transforms_of<Arch, winograd>, x, codes, packed, epilogue, y, scratch);
        else implicit_gemm<Arch>(g, x, codes, packed, epilogue, y, scratch);
    }
};

}  // namespace kernel
}  // namespace v0
}  // namespace zp
