// expect: qscheme<Granularity, Symmetry>: the first argument must be zp::per_tensor, zp::per_channel<Axis> or zp::per_group<Size> .the order is granularity, symmetry
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/scheme/qscheme.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using weights = zp::qscheme<zp::symmetric, zp::per_group<32>>;
static_assert(weights::group_size != 32);
#else
using weights = zp::qscheme<zp::per_group<32>, zp::symmetric>;
static_assert(weights::group_size == 32);
#endif
