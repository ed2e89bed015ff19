// expect: operations of an architecture: a constant of arch/contract.hpp is missing or of another type
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/kernel/arch/portable.hpp>

struct operations_of_fractional_tiles : zp::kernel::portable_operations<4, 8, 2> {
#ifdef ZEROPOINT_MUST_FAIL
    static constexpr double tile_rows = 4.5;
#else
    static constexpr int tile_rows = 4;
#endif
};

static_assert(sizeof(zp::kernel::contract_check<operations_of_fractional_tiles>) != 0);
