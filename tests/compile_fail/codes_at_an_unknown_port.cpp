// expect: this model has no input or output of that name .see no_port_named<Name, the nearest name that there is, Model>.
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
#ifdef ZEROPOINT_MUST_FAIL
struct config : zp::qconfig<activations, weights, zp::codes_in<"fc">> {};
#else
struct config : zp::qconfig<activations, weights, zp::codes_in<"camera">> {};
#endif

zp::quantized<net, config> model;
