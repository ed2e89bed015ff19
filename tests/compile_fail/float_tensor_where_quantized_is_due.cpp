// expect: a float32 tensor came where a quantized one is due: its values have no scale and zero point yet, quantize it first .zp::quantize
// SPDX-License-Identifier: BSD-3-Clause
#include <zeropoint/scheme/tensor.hpp>

void int8_layer(zp::tensor_view<zp::quint8>);

void run(const zp::tensor<zp::float32>& image, zp::tensor<zp::quint8>& codes) {
#ifdef ZEROPOINT_MUST_FAIL
    (void)codes;
    int8_layer(image);
#else
    zp::quantize<zp::quint8>(image, codes);
    int8_layer(codes);
#endif
}
