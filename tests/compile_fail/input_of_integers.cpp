// expect: this model takes and gives floats. quantize and dequantize happen inside it
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/float_stage.hpp>

struct net : zp::model<zp::input<1, 1, 3>, zp::linear<"fc", 2>> {};
#ifdef ZEROPOINT_MUST_FAIL
using input = std::array<unsigned char, 3>;
#else
using input = std::array<float, 3>;
#endif

void run(const zp::float_model<net>& model, const input& x, std::array<float, 2>& y) { model(x, y); }
