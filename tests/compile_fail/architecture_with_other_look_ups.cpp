// expect: operations of an architecture: look_up_fine takes a table of uint8 and four vectors of places, and gives a vector of bytes
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/kernel/arch/portable.hpp>

struct operations_with_other_look_ups : zp::kernel::portable_operations<4, 8, 2> {
#ifdef ZEROPOINT_MUST_FAIL
    static uint8 look_up_fine(const std::uint8_t* table, const int32& places);
#else
    static uint8 look_up_fine(const std::uint8_t* table, const int32 (&places)[4]);
#endif
};

static_assert(sizeof(zp::kernel::contract_check<operations_with_other_look_ups>) != 0);
