// SPDX-License-Identifier: BSD-3-Clause
// What a consumer's program does first: include the library, name a model and quantize a number.
#include <zeropoint/zeropoint.hpp>

struct tiny_model : zp::model<zp::input<1, 1, 4>, zp::linear<"fc", 2>, zp::relu> {};

int main() {
    const zp::qparams range = zp::choose_qparams<zp::quint8, zp::per_tensor_affine>(-1.0f, 1.0f);
    return zp::quantize<zp::quint8>(0.0f, range) == range.zero_point && ZEROPOINT_VERSION_MAJOR == 0 ? 0 : 1;
}
