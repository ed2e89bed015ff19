// expect: the first argument must be a quantized dtype such as zp::quint8 or zp::qint8 .the order is dtype, qscheme, observer
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/qconfig.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using activations = zp::quantizer<zp::per_tensor_affine, zp::quint8, zp::min_max_observer>;
#else
using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
#endif

activations made;
