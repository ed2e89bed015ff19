// expect: percentile_observer<Kept, Of>: the share Kept / Of must lie in .0, 1.: percentile_observer<9999, 10000> keeps 99.99 % of the values
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/percentile_observer.hpp>

#ifdef ZEROPOINT_MUST_FAIL
zp::percentile_observer<101, 100> observer;
#else
zp::percentile_observer<99, 100> observer;
#endif
