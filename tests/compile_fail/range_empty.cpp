// expect: the range is empty, Min must be less than Max
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include <zeropoint/core/dtype.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using weight = zp::custom_range<std::int8_t, 0, 0>;
#else
using weight = zp::custom_range<std::int8_t, 0, 1>;
#endif

static_assert(weight::quant_min == 0);
