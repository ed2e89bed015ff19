// expect: a tensor of another quantized dtype came: its codes mean other values, requantize it first
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/scheme/tensor.hpp>

void int8_layer(zp::tensor_view<zp::quint8>);

#ifdef ZEROPOINT_MUST_FAIL
void run(zp::mutable_tensor_view<zp::qint8> codes) { int8_layer(codes); }
#else
void run(zp::mutable_tensor_view<zp::quint8> codes) { int8_layer(codes); }
#endif
