// SPDX-License-Identifier: BSD-3-Clause
// The kernels that nearly every test here runs, compiled once an architecture: convolution_kernels_*.cpp define them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "convolution_problem.hpp"

// What a test runs with other outputs or epilogues is compiled in that test.

#define ZEROPOINT_CONVOLUTION_KERNEL(EXTERN, ARCH, IN, OUT, EPILOGUE)                                              \
    EXTERN template void zp::kernel::conv2d<ARCH, IN, OUT, EPILOGUE>(                                              \
        const zp::kernel::conv2d_geometry&, zp::kernel::conv2d_algorithm, const IN*, zp::kernel::activation_codes, \
        const std::byte*, const EPILOGUE&, OUT*, std::byte*) noexcept;

#define ZEROPOINT_CONVOLUTION_PACKING(EXTERN, ARCH, WEIGHT)                                                          \
    EXTERN template void zp::kernel::pack_conv2d<ARCH, WEIGHT>(                                                      \
        const zp::kernel::conv2d_geometry&, zp::kernel::conv2d_algorithm, const zp::kernel::conv2d_weights<WEIGHT>&, \
        zp::kernel::activation_codes, std::byte*);                                                                   \
    EXTERN template void zp::kernel::unpack_conv2d<ARCH, WEIGHT>(                                                    \
        const zp::kernel::conv2d_geometry&, zp::kernel::conv2d_algorithm, const std::int32_t*,                       \
        zp::kernel::activation_codes, const std::byte*, WEIGHT*, std::int32_t*);

#define ZEROPOINT_CONVOLUTION_KERNELS(EXTERN, ARCH)                                                  \
    ZEROPOINT_CONVOLUTION_KERNEL(EXTERN, ARCH, std::uint8_t, std::int32_t, zp::kernel::accumulators) \
    ZEROPOINT_CONVOLUTION_KERNEL(EXTERN, ARCH, std::int8_t, std::int32_t, zp::kernel::accumulators)  \
    ZEROPOINT_CONVOLUTION_KERNEL(EXTERN, ARCH, std::uint8_t, std::uint8_t, zp::kernel::nearest_even) \
    ZEROPOINT_CONVOLUTION_PACKING(EXTERN, ARCH, std::uint8_t)                                        \
    ZEROPOINT_CONVOLUTION_PACKING(EXTERN, ARCH, std::int8_t)

#ifndef ZEROPOINT_DEFINES_CONVOLUTION_KERNELS
#if !ZEROPOINT_TEST_ONE_ARCHITECTURE
ZEROPOINT_CONVOLUTION_KERNELS(extern, zp::portable)
ZEROPOINT_CONVOLUTION_KERNELS(extern, zp_test::odd_architecture)
ZEROPOINT_CONVOLUTION_KERNELS(extern, zp_test::odd_saturating_architecture)
ZEROPOINT_CONVOLUTION_KERNELS(extern, zp_test::odd_signed_architecture)
#endif
ZEROPOINT_CONVOLUTION_KERNELS(extern, zp::default_architecture)
#endif
