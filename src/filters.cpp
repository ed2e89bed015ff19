// SPDX-License-Identifier: BSD-3-Clause
// Filters over codes of 8 bits, compiled once.
#define ZEROPOINT_INSTANCE template
#include <zeropoint/compiled/filters.hpp>
