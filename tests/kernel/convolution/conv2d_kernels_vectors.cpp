// SPDX-License-Identifier: BSD-3-Clause
// See convolution_kernels.hpp.
#define ZEROPOINT_DEFINES_CONVOLUTION_KERNELS
#include "../support/convolution_kernels.hpp"

ZEROPOINT_CONVOLUTION_KERNELS(, zp::default_architecture)
