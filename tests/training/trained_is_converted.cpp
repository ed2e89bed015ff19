// SPDX-License-Identifier: BSD-3-Clause
// Trained = converted, small enough for every architecture that tests run on: one tiny network, batch norms live and then frozen.
#include <doctest/doctest.h>

#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/attention.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/pool2d.hpp>
#include <zeropoint/operators/reshape.hpp>

#include "../support/made_up.hpp"
#include "check_training.hpp"

namespace {

struct qconfig : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::moving_average_min_max_observer<>>,
                             zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>> {};
// clang-format off
/// What the digits' network, MobileNet, LSTMs and transformers are made of, in one network, which compiles in half the time of four: convolutions
/// with norms, an inverted residual of depthwise filters, a function that is a table, a pool, an encoder layer, an LSTM.
struct tiny : zp::model<zp::input<4, 4, 2>,
    zp::conv2d<"conv1", zp::conv{.out_channels = 8, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"norm1">, zp::relu6,
    zp::residual<
        zp::conv2d<"expand", zp::conv{.out_channels = 12, .bias = false}>, zp::batch_norm2d<"norm2">, zp::relu6,
        zp::conv2d<"depthwise", zp::conv{.kernel = 3, .padding = 1, .groups = zp::depthwise, .bias = false}>, zp::batch_norm2d<"norm3">, zp::relu6,
        zp::conv2d<"project", zp::conv{.out_channels = 8, .bias = false}>, zp::batch_norm2d<"norm4">>, zp::hardswish,
    zp::max_pool2d<2>, zp::reshape<1, 4, 8>,
    zp::encoder<"encoder", 1, 2, 12, zp::relu>,
    zp::lstm<"lstm", 4, zp::recurrent_options{.output = zp::recurrent_output::final_state}>,
    zp::linear<"fc", 3>> {};
// clang-format on

}  // namespace

TEST_CASE("trained is converted: every code of every row, on this architecture") {
    const auto inputs = made_up::inputs<tiny>(8);
    const std::vector<int> labels{0, 1, 2, 0, 1, 2, 0, 1};
    auto qat = zp::prepare_qat<qconfig>(made_up::network<tiny>(3));
    const auto report = zp::train(
        qat, zp::labelled(inputs, labels),
        {.epochs = 3, .batch = 4, .optimizer = zp::sgd{.lr = 0.02, .momentum = 0.9}, .freeze_batch_norms_after = 2});
    CHECK(report.steps == 6);
    check_training::codes(qat);
}
