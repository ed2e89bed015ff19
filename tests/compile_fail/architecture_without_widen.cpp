// expect: operations of an architecture: widen, interleave of two and of four rows, gather or store is missing
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/kernel/arch/portable.hpp>

struct operations_without_widen : zp::kernel::portable_operations<4, 8, 2> {
#ifdef ZEROPOINT_MUST_FAIL
    static void widen() {}  // hides those of the base
#else
    using portable_operations::widen;
#endif
};

static_assert(sizeof(zp::kernel::contract_check<operations_without_widen>) != 0);
