// expect: choose_qparams<DType, QScheme, Rule>: DType must be a quantized dtype such as zp::quint8 or zp::qint8 .the order is dtype, qscheme, rule
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/scheme/choose_qparams.hpp>

#ifdef ZEROPOINT_MUST_FAIL
constexpr auto params = zp::choose_qparams<zp::per_tensor_affine, zp::quint8>(-1.0f, 1.0f);
#else
constexpr auto params = zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(-1.0f, 1.0f);
#endif

static_assert(params.scale > 0);
