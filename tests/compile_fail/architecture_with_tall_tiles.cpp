// expect: operations of an architecture: tile_rows must be 1 to 16
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/kernel/arch/portable.hpp>

struct operations_of_tall_tiles : zp::kernel::portable_operations<4, 8, 2> {
#ifdef ZEROPOINT_MUST_FAIL
    static constexpr int tile_rows = 24;
#else
    static constexpr int tile_rows = 12;
#endif
};

static_assert(sizeof(zp::kernel::contract_check<operations_of_tall_tiles>) != 0);
