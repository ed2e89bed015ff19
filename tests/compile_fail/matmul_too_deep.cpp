// expect: an int32 accumulator can overflow at this depth: split it
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/layer/quantized_matmul.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr zp::matmul_options options{.depth = 33026};
#else
constexpr zp::matmul_options options{.depth = 33025};
#endif

using layer = zp::quantized_matmul<options>;
constexpr zp::shape extents = layer::output_shape;
