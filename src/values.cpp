// SPDX-License-Identifier: BSD-3-Clause
// Kernels over values, compiled once.
#define ZEROPOINT_INSTANCE template
#include <zeropoint/compiled/values.hpp>
