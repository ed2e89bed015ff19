// expect: than 33025 where weights are affine
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/layer/linear.hpp>

using affine_weights = zp::dynamic_policy<zp::quint8, zp::per_row_affine, zp::qint8, zp::per_channel_affine>;

#ifdef ZEROPOINT_MUST_FAIL
constexpr int inputs = 33026;
#else
constexpr int inputs = 33025;
#endif

constexpr int outputs = zp::dynamic_linear<inputs, 2, affine_weights>::outputs;
