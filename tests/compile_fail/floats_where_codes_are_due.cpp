// expect: codes go through this port, as zp::codes_in or zp::codes_out of the qconfig says
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/calibrate.hpp>

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>;
struct net : zp::model<zp::named<"camera", zp::input<1, 1, 3>>, zp::linear<"fc", 2>, zp::output<"scores">> {};
struct config : zp::qconfig<activations, weights, zp::codes_in<"camera">> {};
#ifdef ZEROPOINT_MUST_FAIL
using input = std::array<float, 3>;
#else
using input = std::array<std::uint8_t, 3>;
#endif

void run(const zp::quantized<net, config>& model, const input& x, std::array<float, 2>& y) { model(x, y); }
