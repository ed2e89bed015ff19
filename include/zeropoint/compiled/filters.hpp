// SPDX-License-Identifier: BSD-3-Clause
// What zeropoint::compiled has for filters over codes of 8 bits: kernels, their epilogues, packing and unpacking.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/compiled/instance.hpp>
#include <zeropoint/kernel/convolution/conv2d_kernels.hpp>
#include <zeropoint/operators/int8_block.hpp>

// clang-format off
// To codes, sums or floats, whatever the epilogue is.
#define ZEROPOINT_PRODUCTS(In, Out)                                                                                            \
    ZEROPOINT_INSTANCE void convolve_bands<default_architecture>(                                                              \
        const conv2d_geometry&, const In*, activation_codes, const std::byte*,                                                 \
        const any_epilogue<default_architecture, Out>&, Out*, std::byte*) noexcept;
// The same of codes T alone.
#define ZEROPOINT_CONVOLUTIONS(T)                                                                                              \
    ZEROPOINT_PRODUCTS(T, T)                                                                                                   \
    ZEROPOINT_PRODUCTS(T, std::int32_t)                                                                                        \
    ZEROPOINT_PRODUCTS(T, float)                                                                                               \
    ZEROPOINT_INSTANCE void winograd_conv2d<default_architecture, T, T>(                                                       \
        const conv2d_geometry&, const winograd_transforms_from<default_architecture, T>&, const T*, activation_codes,          \
        const std::byte*, const any_epilogue<default_architecture, T>&, T*, std::byte*) noexcept;
// Of codes T and one epilogue.
#define ZEROPOINT_EPILOGUE(T, Epilogue)                                                                                        \
    ZEROPOINT_INSTANCE void any_epilogue<default_architecture, T>::finish<Epilogue>(                                           \
        const void*, const std::int32_t*, int, int, int, T*, std::ptrdiff_t) noexcept;                                         \
    ZEROPOINT_INSTANCE void finish_rows<default_architecture>(                                                                 \
        const Epilogue&, const std::int32_t*, int, int, int, T*, std::ptrdiff_t) noexcept;                                     \
    ZEROPOINT_INSTANCE void depthwise_conv2d<default_architecture>(                                                            \
        const conv2d_geometry&, const T*, activation_codes, const std::byte*, const Epilogue&, T*, std::byte*) noexcept;       \
    ZEROPOINT_INSTANCE void direct_conv2d<default_architecture>(                                                               \
        const conv2d_geometry&, const T*, activation_codes, const std::byte*, const Epilogue&, T*) noexcept;
// Of one Winograd method.
#define ZEROPOINT_WINOGRAD(Method)                                                                                             \
    ZEROPOINT_INSTANCE void transform_filters<default_architecture, Method>(                                                   \
        const std::int8_t*, const std::int16_t*, int, std::int16_t*, std::ptrdiff_t) noexcept;                                 \
    ZEROPOINT_INSTANCE void transform_input_column<default_architecture, Method>(                                              \
        const std::uint8_t* const*, std::int32_t, std::ptrdiff_t, std::int16_t*, std::ptrdiff_t) noexcept;                     \
    ZEROPOINT_INSTANCE void transform_input_column<default_architecture, Method>(                                              \
        const std::int8_t* const*, std::int32_t, std::ptrdiff_t, std::int16_t*, std::ptrdiff_t) noexcept;                      \
    ZEROPOINT_INSTANCE void transform_input_tile<default_architecture, Method>(                                                \
        const std::int16_t* const*, std::ptrdiff_t, std::ptrdiff_t, std::int16_t*, std::ptrdiff_t) noexcept;                   \
    ZEROPOINT_INSTANCE void transform_output_tile<default_architecture, Method>(                                               \
        const std::int32_t*, std::ptrdiff_t, const std::int32_t*, std::int32_t*, std::ptrdiff_t) noexcept;
// Of weights of one type, and their inverses.
#define ZEROPOINT_PACKING(Weight)                                                                                              \
    ZEROPOINT_INSTANCE void pack_panels<default_architecture>(                                                                 \
        const conv2d_geometry&, const conv2d_weights<Weight>&, activation_codes, std::byte*);                                  \
    ZEROPOINT_INSTANCE void pack_depthwise<default_architecture>(                                                              \
        const conv2d_geometry&, const conv2d_weights<Weight>&, activation_codes, std::byte*);                                  \
    ZEROPOINT_INSTANCE void pack_winograd<default_architecture>(                                                               \
        const conv2d_geometry&, const winograd_method&, const conv2d_weights<Weight>&, activation_codes, std::byte*);          \
    ZEROPOINT_INSTANCE void unpack_panels<default_architecture>(                                                               \
        const conv2d_geometry&, const std::int32_t*, activation_codes, const std::byte*, Weight*, std::int32_t*);              \
    ZEROPOINT_INSTANCE void unpack_depthwise<default_architecture>(                                                            \
        const conv2d_geometry&, const std::int32_t*, activation_codes, const std::byte*, Weight*, std::int32_t*);              \
    ZEROPOINT_INSTANCE void unpack_winograd<default_architecture>(                                                             \
        const conv2d_geometry&, const winograd_method&, const std::byte*, Weight*, std::int32_t*);
// clang-format on

namespace zp::inline v0 {
namespace kernel {
ZEROPOINT_CONVOLUTIONS(std::uint8_t)
ZEROPOINT_EPILOGUE(std::uint8_t, nearest_even)
ZEROPOINT_EPILOGUE(std::uint8_t, nearest_even_add<std::uint8_t>)
ZEROPOINT_EPILOGUE(std::uint8_t, float_bias)
ZEROPOINT_CONVOLUTIONS(std::int8_t)
ZEROPOINT_EPILOGUE(std::int8_t, nearest_even)
ZEROPOINT_EPILOGUE(std::int8_t, nearest_even_add<std::int8_t>)
ZEROPOINT_EPILOGUE(std::int8_t, fixed_point_double_rounding)
ZEROPOINT_WINOGRAD(winograd_4x4)
ZEROPOINT_WINOGRAD(winograd_2x2)
ZEROPOINT_PACKING(std::int8_t)
}  // namespace kernel

namespace operators {
ZEROPOINT_INSTANCE struct int8_block<nearest_even, std::int8_t>;
ZEROPOINT_INSTANCE struct int8_block<float_bias, std::int8_t>;
ZEROPOINT_INSTANCE struct int8_block<fixed_point_double_rounding, std::int8_t>;
}  // namespace operators
}  // namespace zp::inline v0

#undef ZEROPOINT_PRODUCTS
#undef ZEROPOINT_CONVOLUTIONS
#undef ZEROPOINT_EPILOGUE
#undef ZEROPOINT_WINOGRAD
#undef ZEROPOINT_PACKING
