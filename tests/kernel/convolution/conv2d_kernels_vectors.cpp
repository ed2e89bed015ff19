// See convolution_kernels.hpp.
#define ZEROPOINT_DEFINES_CONVOLUTION_KERNELS
#include "../support/convolution_kernels.hpp"

ZEROPOINT_CONVOLUTION_KERNELS(, zp::default_architecture)
#if XSIMD_WITH_AVX && !ZEROPOINT_TEST_ONE_ARCHITECTURE
ZEROPOINT_CONVOLUTION_KERNELS(, xsimd::sse4_2)
#endif
