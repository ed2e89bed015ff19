// expect: operations of an architecture: panels of saturating_pairs have at most 32 channels
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/kernel/arch/portable.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr int lanes_of_a_panel = 16;
#else
constexpr int lanes_of_a_panel = 8;
#endif

struct operations_of_wide_panels : zp::kernel::portable_operations<4, lanes_of_a_panel, 4> {
    static constexpr auto quads = zp::kernel::quad_products::saturating_pairs;
};

static_assert(sizeof(zp::kernel::contract_check<operations_of_wide_panels>) != 0);
