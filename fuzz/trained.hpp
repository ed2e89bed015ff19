// SPDX-License-Identifier: BSD-3-Clause
// A small network in training, with ranges that are learned and one that follows the data, and with a batch norm: what checkpoints are read
// for.
#pragma once

#include <string>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/training/train.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../tests/support/made_up.hpp"

namespace fuzzed {

struct dense : zp::model<zp::input<1, 1, 3>, zp::linear<"first", 3>, zp::batch_norm1d<"norm">, zp::relu,
                         zp::linear<"second", 2>> {};

using learned_weights =
    zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::learned_step<zp::min_max_observer>>;
struct following : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::moving_average_min_max_observer<>>,
                               learned_weights> {};
struct learned : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::learned_step<zp::min_max_observer>>,
                             learned_weights, zp::for_layer<"second", following>> {};

/// With the ranges of a calibration.
inline auto trainee() {
    const auto model = made_up::network<dense>();
    return zp::prepare_qat(zp::calibrate(zp::prepare<learned>(zp::fuse(model)), made_up::inputs<dense>(4)), model);
}
/// Two steps an epoch, with all that a checkpoint may keep. Without a path no file is written.
inline zp::training_options options(const std::string& checkpoint) {
    return {.epochs = 2,
            .batch = 2,
            .block = 2,
            .optimizer = zp::adam{.lr = 1e-3},
            .average = zp::weight_average{.decay = 0.9},
            .checkpoint = checkpoint,
            .resume = !checkpoint.empty()};
}
template <class Network, class Progress> void train(Network& network, const std::string& checkpoint, Progress&& go_on) {
    static const std::vector<std::vector<float>> inputs = made_up::inputs<dense>(4);
    static const std::vector<int> labels{0, 1, 1, 0};
    zp::train(network, zp::labelled(inputs, labels), options(checkpoint), zp::executors::serial{}, go_on);
}

}  // namespace fuzzed
