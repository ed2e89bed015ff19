// expect: TFLite has no symmetric unsigned codes: take a signed dtype such as zp::qint8_narrow, or zp::pytorch_rule
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/scheme/choose_qparams.hpp>

#ifdef ZEROPOINT_MUST_FAIL
using weight = zp::quint8;
#else
using weight = zp::qint8_narrow;
#endif

static_assert(zp::choose_qparams<weight, zp::per_channel_symmetric, zp::tflite_rule>(-1.0f, 1.0f).zero_point == 0);
