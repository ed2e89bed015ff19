// SPDX-License-Identifier: BSD-3-Clause
// Trained = converted, on every architecture that tests run on: the digits' network, MobileNet's blocks, an LSTM and a small transformer, batch norms
// live and then frozen. As few steps and images as reach every kind of row: emulators take 20 to 100 times as long.
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
#include <zeropoint/operators/flatten.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/lstm.hpp>
#include <zeropoint/operators/pool2d.hpp>
#include <zeropoint/operators/stubs.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"
#include "../support/made_up.hpp"
#include "check_training.hpp"

namespace {

struct qconfig : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::moving_average_min_max_observer<>>,
                             zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>> {};

inline constexpr zp::conv wide{.out_channels = 48, .bias = false};
inline constexpr zp::conv narrow{.out_channels = 16, .bias = false};
inline constexpr zp::conv window{.kernel = 3, .stride = 2, .padding = 1, .groups = zp::depthwise, .bias = false};
// clang-format off
/// MobileNet's blocks: one with a sum and one of stride 2; relu6 and a function that is a table.
struct mobile : zp::model<zp::input<8, 8, 3>,
    zp::conv2d<"stem", zp::conv{.out_channels = 16, .kernel = 3, .stride = 2, .padding = 1, .bias = false}>, zp::batch_norm2d<"stem_norm">, zp::hardswish,
    zp::residual<
        zp::conv2d<"b1.expand", wide>, zp::batch_norm2d<"b1.n1">, zp::relu6,
        zp::conv2d<"b1.depthwise", depthwise3x3>, zp::batch_norm2d<"b1.n2">, zp::relu6,
        zp::conv2d<"b1.project", narrow>, zp::batch_norm2d<"b1.n3">>,
    zp::conv2d<"b2.expand", wide>, zp::batch_norm2d<"b2.n1">, zp::relu6,
    zp::conv2d<"b2.depthwise", window>, zp::batch_norm2d<"b2.n2">, zp::relu6,
    zp::conv2d<"b2.project", narrow>, zp::batch_norm2d<"b2.n3">,
    zp::avg_pool2d<2>, zp::flatten, zp::linear<"classifier", 3>> {};
struct recurrent : zp::model<zp::input<1, 6, 5>,
    zp::lstm<"lstm", 16>, zp::flatten, zp::linear<"fc", 3>> {};
struct transformer : zp::model<zp::input<1, 5, 16>,
    zp::encoder<"encoder", 1, 2, 32, zp::relu>, zp::flatten, zp::linear<"fc", 3>> {};
// clang-format on

/// A step with live norms, then one with frozen ones.
template <class Net> void check() {
    const auto inputs = made_up::inputs<Net>(1);
    const std::vector<int> labels{1};
    auto qat = zp::prepare_qat<qconfig>(made_up::network<Net>(3));
    const auto report = zp::train(
        qat, zp::labelled(inputs, labels),
        {.epochs = 2, .batch = 1, .optimizer = zp::sgd{.lr = 0.02, .momentum = 0.9}, .freeze_batch_norms_after = 1});
    CHECK(report.steps == 2);
    check_training::codes(qat, 2, 2);
}

}  // namespace

TEST_CASE("trained is converted, on this architecture: the digits' network") { check<digits_cnn>(); }
TEST_CASE("trained is converted, on this architecture: MobileNet's blocks") { check<mobile>(); }
TEST_CASE("trained is converted, on this architecture: an LSTM") { check<recurrent>(); }
TEST_CASE("trained is converted, on this architecture: a transformer") { check<transformer>(); }
