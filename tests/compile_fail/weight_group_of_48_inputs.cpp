// expect: dynamic_group_policy<Weight, GroupSize>: a group has a multiple of 32 inputs, up to 8192: usual sizes are 32 and 128
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/operators/dynamic_group_policy.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using policy = zp::dynamic_group_policy<zp::qint4, 48>;
#else
using policy = zp::dynamic_group_policy<zp::qint4, 64>;
#endif

constexpr int size = policy::group_size;
