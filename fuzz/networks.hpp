// SPDX-License-Identifier: BSD-3-Clause
// Small networks of every storage, with made-up parameters: what fuzz targets load, and seeds are files of.
#pragma once

#include <cstddef>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../tests/support/made_up.hpp"

namespace fuzzed {

/// Filters, a batch norm that is folded, a branch, a pool and products.
struct images
    : zp::model<
          zp::input<5, 4, 2>, zp::conv2d<"conv", zp::conv{.out_channels = 4, .kernel = 3, .padding = 1, .bias = false}>,
          zp::batch_norm2d<"norm">, zp::relu,
          zp::add<
              zp::identity,
              zp::conv2d<"branch", zp::conv{.out_channels = 4, .kernel = 3, .padding = 1, .groups = zp::depthwise}>>,
          zp::max_pool2d<2>, zp::flatten, zp::linear<"fc", 5>> {};
/// States, layer norms, gelu and softmax over a sequence.
struct sequences : zp::model<zp::input<1, 6, 4>, zp::lstm<"lstm", 5>, zp::layer_norm<"norm">, zp::gru<"gru", 4>,
                             zp::linear<"fc", 6>, zp::gelu, zp::softmax> {};
/// Tables of indices.
struct words : zp::model<zp::indices<6>, zp::embedding<"words", 9, 4>, zp::linear<"fc", 3>> {};

using int8_images = zp::quantized<images, zp::default_qconfig>;
using int8_sequences = zp::quantized<sequences, zp::default_qconfig>;
using int16_images = zp::quantized<images, zp::int16_qconfig>;
/// Integers in every layer and table, which the default leaves in float where they are as small as these.
using dynamic_config = zp::dynamic_qconfig<zp::dynamic_policy<>, zp::quantize_every_layer, zp::embedding_bits<8>>;
using dynamic_words = zp::dynamically_quantized<words, dynamic_config>;

/// Calibrated with made-up inputs.
template <class Net, class QConfig> auto converted() {
    return zp::convert(zp::calibrate(zp::prepare<QConfig>(zp::fuse(made_up::network<Net>())), made_up::inputs<Net>(8)));
}

}  // namespace fuzzed
