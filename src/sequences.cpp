// SPDX-License-Identifier: BSD-3-Clause
// What sequences are made of, norms, products of two activations and interpolation, compiled once.
#define ZEROPOINT_INSTANCE template
#include <zeropoint/compiled/sequences.hpp>
