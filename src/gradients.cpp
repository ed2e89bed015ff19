// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of batches and their gradients, compiled once.
#define ZEROPOINT_INSTANCE template
#include <zeropoint/compiled/gradients.hpp>
