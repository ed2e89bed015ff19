// expect: Policy must be zp::nearest_even, zp::float_bias, zp::fixed_point_double_rounding, zp::fixed_point_single_rounding or zp::fixed_point_litert
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/workflow/qconfig.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using option = zp::requantize_with<zp::pytorch_rule>;
#else
using option = zp::requantize_with<zp::float_bias>;
#endif

option made;
