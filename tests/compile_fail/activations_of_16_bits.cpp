// expect: activations must have an 8-bit dtype such as zp::quint8, zp::qint8 or a reduced range of one
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using dtype = zp::qint16;
#else
using dtype = zp::qint8;
#endif
struct config : zp::qconfig<zp::quantizer<dtype, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>> {};

config made;
