// SPDX-License-Identifier: BSD-3-Clause
// One small network for all tests of inspection, so that it is compiled once where they are compiled together: a batch norm and a relu
// that are fused, a merged add, a fused table, a pool on the grid of its input, a concat that brings its inputs to its own.
#pragma once

#include <zeropoint/model/composition.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/made_up.hpp"

namespace inspected {

struct net : zp::model<zp::input<6, 6, 3>, zp::conv2d<"one", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>,
                       zp::batch_norm2d<"bn">, zp::relu,
                       zp::residual<zp::conv2d<"two", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1}>>,
                       zp::conv2d<"three", zp::conv{.out_channels = 8}>, zp::silu, zp::named<"pool", zp::max_pool2d<2>>,
                       zp::concat<zp::conv2d<"a", zp::conv{.out_channels = 4}>, zp::identity>, zp::flatten,
                       zp::linear<"fc", 6>> {};
using qconfig = zp::default_qconfig;
/// One layer in float, and one whose weights have three bits.
struct uneven
    : zp::qconfig<qconfig::activation, qconfig::weight, zp::keep_float<"two">,
                  zp::for_layer<"a", zp::qconfig<qconfig::activation,
                                                 zp::quantizer<zp::custom_range<std::int8_t, -3, 3>,
                                                               zp::per_channel_symmetric, zp::min_max_observer>>>> {};

inline zp::float_model<net> trained() { return made_up::network<net>(1); }
template <class QConfig = qconfig> auto calibrated() {
    return zp::calibrate(zp::prepare<QConfig>(trained()), made_up::inputs<net>(64));
}

}  // namespace inspected
