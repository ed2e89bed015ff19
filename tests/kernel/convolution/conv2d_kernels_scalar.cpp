// SPDX-License-Identifier: BSD-3-Clause
// See convolution_kernels.hpp.
#define ZEROPOINT_DEFINES_CONVOLUTION_KERNELS
#include "../support/convolution_kernels.hpp"

#if !ZEROPOINT_TEST_ONE_ARCHITECTURE
ZEROPOINT_CONVOLUTION_KERNELS(, zp::portable)
ZEROPOINT_CONVOLUTION_KERNELS(, zp_test::odd_architecture)
ZEROPOINT_CONVOLUTION_KERNELS(, zp_test::odd_saturating_architecture)
ZEROPOINT_CONVOLUTION_KERNELS(, zp_test::odd_signed_architecture)
#endif
