// SPDX-License-Identifier: BSD-3-Clause
// What works on many inputs at once, over threads: calibration, training and inference leave the bits of one thread.
#include <doctest/doctest.h>

#include <vector>

#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/model/spread.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/training/train.hpp>
#include <zeropoint/workflow/calibrate_by_executor.hpp>

#include "../support/made_up.hpp"

namespace {

struct net : zp::model<zp::input<1, 1, 6>, zp::linear<"hidden", 8>, zp::relu, zp::linear<"out", 3>> {};
struct config
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::learned_step<zp::min_max_observer>>,
                  zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::learned_step<zp::min_max_observer>>> {
};

/// All parameters after calibration and two epochs, and the outputs of the converted network.
template <class Executor> std::vector<float> trained(const Executor& executor) {
    const auto xs = made_up::inputs<net>(30, 3);
    std::vector<int> labels(xs.size());
    for (std::size_t i = 0; i != xs.size(); ++i) labels[i] = static_cast<int>(i % 3);
    auto network = zp::prepare_qat(zp::calibrate(zp::prepare<config>(zp::fuse(made_up::network<net>(1))), xs, executor,
                                                 [](const zp::calibration_progress&) {}));
    zp::training_options options{
        .epochs = 2, .batch = 10, .block = 2, .optimizer = zp::adam{.lr = 1e-2}, .schedule = zp::cosine{}};
    zp::train(network, zp::labelled(xs, labels), options, executor);
    const auto values = network.values();
    std::vector<float> all(values.begin(), values.end());
    const auto int8 = zp::convert(network);
    std::vector<float> inputs, outputs(3 * xs.size());
    for (const std::vector<float>& x : xs) inputs.insert(inputs.end(), x.begin(), x.end());
    const zp::workspaces<zp::quantized<net, config>> memory(executor.workers());
    zp::run_many(int8, inputs, outputs, memory, executor);
    all.insert(all.end(), outputs.begin(), outputs.end());
    return all;
}

TEST_CASE("executors::thread_pool: calibration, training and many inferences leave the bits of one thread") {
    const std::vector<float> expected = trained(zp::executors::serial());
    for (const int workers : {2, 4}) {
        const zp::executors::thread_pool pool(workers);
        CHECK(trained(pool) == expected);
    }
}

}  // namespace
