// expect: table_bits<Bits>: Bits must be from 8 to 12
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::min_max_observer>;
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<activations, weights, zp::table_bits<7>> {};
#else
struct config : zp::qconfig<activations, weights, zp::table_bits<12>> {};
#endif
config c;
