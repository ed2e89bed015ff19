// expect: operations of an architecture: saturating_pairs also needs pair_sums
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/kernel/arch/portable.hpp>

struct operations_without_pair_sums : zp::kernel::portable_operations<4, 8, 2> {
#ifdef ZEROPOINT_MUST_FAIL
    static constexpr auto quads = zp::kernel::quad_products::saturating_pairs;
#else
    static constexpr auto quads = zp::kernel::quad_products::exact;
#endif
    static void pair_sums() {}
};

static_assert(sizeof(zp::kernel::contract_check<operations_without_pair_sums>) != 0);
