// SPDX-License-Identifier: BSD-3-Clause
// Trained = converted, small enough for every architecture that tests run on: one tiny network, batch norms live and then frozen.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/activations.hpp>
#include <zeropoint/operators/add.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/operators/clamp.hpp>
#include <zeropoint/operators/conv2d.hpp>
#include <zeropoint/operators/flatten.hpp>
#include <zeropoint/operators/linear.hpp>
#include <zeropoint/operators/pool2d.hpp>
#include <zeropoint/training/train.hpp>

#include "../support/made_up.hpp"

namespace {

// clang-format off
struct tiny : zp::model<zp::input<4, 4, 2>,
    zp::conv2d<"conv1", zp::conv{.out_channels = 5, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"norm1">, zp::relu6,
    zp::residual<zp::conv2d<"conv2", zp::conv{.out_channels = 5, .kernel = 3, .padding = 1}>>, zp::hardswish,
    zp::max_pool2d<2>, zp::flatten, zp::linear<"fc", 3>> {};
struct qconfig : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::moving_average_min_max_observer<>>,
                             zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>> {};
// clang-format on

}  // namespace

TEST_CASE("trained is converted: every code of every row, on this architecture") {
    constexpr std::size_t count = 8;
    const auto inputs = made_up::inputs<tiny>(count);
    const std::vector<int> labels{0, 1, 2, 0, 1, 2, 0, 1};
    auto qat = zp::prepare_qat<qconfig>(made_up::network<tiny>(3));
    const auto report = zp::train(
        qat, zp::labelled(inputs, labels),
        {.epochs = 3, .batch = 4, .optimizer = zp::sgd{.lr = 0.02, .momentum = 0.9}, .freeze_batch_norms_after = 2});
    CHECK(report.steps == 6);
    const auto int8 = zp::convert(qat);
    const zp::tape tape = qat.make_tape(static_cast<int>(count));
    zp::block_runner<zp::default_architecture> runner(tape);
    for (std::size_t i = 0; i != count; ++i)
        std::memcpy(runner.input(0, static_cast<int>(i)), inputs[i].data(), inputs[i].size() * sizeof(float));
    runner.forward(static_cast<int>(count), qat.pack(), true);
    std::size_t compared = 0, differing = 0;
    for (std::size_t i = 0; i != count; ++i) {
        float y[3] = {};
        zp::quantized<tiny, qconfig>::workspace memory;
        int8.run(inputs[i].data(), y, memory.bytes, [&](int row, const void* values) {
            const zp::node& n = int8.rows()[static_cast<std::size_t>(row)];
            if (!n.out.is_codes()) return;
            const auto bytes = static_cast<std::size_t>(n.out.extents.size());
            compared += bytes;
            for (std::size_t k = 0; k != bytes; ++k)
                differing += runner.codes(row, static_cast<int>(i))[k] != static_cast<const std::byte*>(values)[k];
        });
        for (std::size_t k = 0; k != 3; ++k) differing += runner.output(0, static_cast<int>(i))[k] != y[k];
    }
    CHECK(compared > count * 150);
    CHECK(differing == 0);
}
