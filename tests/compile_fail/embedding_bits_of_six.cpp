// expect: embedding_bits<Bits>: Bits must be 8 or 4
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/workflow/qconfig.hpp>

#ifdef ZEROPOINT_MUST_FAIL
zp::embedding_bits<6> bits;
#else
zp::embedding_bits<4> bits;
#endif
