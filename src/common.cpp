// SPDX-License-Identifier: BSD-3-Clause
// The most common operators, compiled once.
#define ZEROPOINT_INSTANCE template
#include <zeropoint/compiled/common.hpp>
