// expect: a float32 tensor came where a quantized one is due: its values have no scale and zero point yet, quantize it first
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/layer/static_layers.hpp>

using layer = zp::quantized_linear<8, 4>;
#ifdef ZEROPOINT_MUST_FAIL
using dtype = zp::float32;
#else
using dtype = zp::quint8;
#endif

void run(const layer& fc, const zp::tensor<dtype>& x, zp::tensor<zp::quint8>& y, layer::workspace& memory) {
    fc(x, y, memory);
}
