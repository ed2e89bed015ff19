// expect: operations of an architecture: narrow_step_units must be 1 to the lanes of a vector
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/kernel/arch/portable.hpp>

struct operations_of_wide_steps : zp::kernel::portable_operations<4, 8, 2> {
#ifdef ZEROPOINT_MUST_FAIL
    static constexpr int narrow_step_units = 4;  // of vectors, which it has not
#else
#endif
};

static_assert(sizeof(zp::kernel::contract_check<operations_of_wide_steps>) != 0);
