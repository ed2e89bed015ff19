// expect: Observer gives the first value of a scale that is trained: it is neither a fixed_range nor a learned_step
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/fixed_range.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using range = zp::learned_step<zp::fixed_range<>>;
#else
using range = zp::learned_step<>;
#endif

int main() { return sizeof(range) == 0; }
