// expect: quantized_embedding<Bits>: Bits must be 8 or 4
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/layer/quantized_embedding.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int bits = 2;
#else
constexpr int bits = 4;
#endif

int rows_of(const zp::quantized_embedding<bits>& table) { return table.rows(); }
