// expect: the range does not fit Storage: take a wider Storage or a narrower range
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include <zeropoint/core/dtype.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using weight = zp::custom_range<std::int8_t, -128, 128>;
#else
using weight = zp::custom_range<std::int16_t, -128, 128>;
#endif

static_assert(weight::quant_max == 128);
