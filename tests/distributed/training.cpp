// SPDX-License-Identifier: BSD-3-Clause
#include "training.hpp"

#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/observe/moving_average_min_max_observer.hpp>
#include <zeropoint/observe/mse_observer.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/training/train.hpp>

#include "../support/arrays.hpp"
#include "../support/errors.hpp"
#include "../support/made_up.hpp"

namespace {

// clang-format off
struct net : zp::model<zp::input<4, 4, 2>,
    zp::conv2d<"conv", zp::conv{.out_channels = 6, .kernel = 3}>, zp::batch_norm2d<"norm">, zp::relu, zp::flatten,
    zp::linear<"fc", 3>> {};
// clang-format on
using weights = zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::learned_step<zp::min_max_observer>>;
struct learned_everything : zp::qconfig<zp::quantizer<zp::quint4, zp::per_tensor_affine, zp::learned_step<>>, weights> {
};
/// Ranges that follow the batches, and one that is learned.
struct learned : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::moving_average_min_max_observer<>>,
                             weights, zp::for_layer<"conv", learned_everything>> {};
struct exact : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::mse_observer<>>,
                           zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>> {};

constexpr std::size_t samples = 45;

template <class Exchange, class Progress>
std::vector<float> trained(Exchange& with, const zp::training_options& changed, const Progress& progress) {
    zp::training_options options = changed;
    options.epochs = 2;
    options.batch = 20;
    options.block = 3;
    options.optimizer = zp::adam{.lr = 0.01};
    auto qat = zp::prepare_qat<learned>(zp::fuse(made_up::network<net>(1)));
    const auto xs = made_up::inputs<net>(samples, 3);
    std::vector<int> labels;
    for (std::size_t i = 0; i != samples; ++i) labels.push_back(static_cast<int>(i % 3));
    zp::train(qat, zp::labelled(xs, labels), options, zp::executors::serial{}, progress, with);
    return {qat.values().begin(), qat.values().end()};
}

}  // namespace

namespace distributed_test {

[[maybe_unused]]
// [training]
/// Between MPI_Init and MPI_Finalize, on every rank.
void train_together(zp::fake_quantized<net, learned>& qat, const std::vector<std::vector<float>>& images,
                    const std::vector<int>& labels) {
    zp::ranks world{MPI_COMM_WORLD};
    zp::train(qat, zp::labelled(images, labels),
              {.epochs = 20, .batch = 64, .checkpoint = "qat.safetensors", .resume = true}, world);
}
// [/training]

std::vector<float> trained_alone() {
    zp::one_rank alone;
    return trained(alone, {}, [](const zp::training_progress&) {});
}
std::vector<float> trained_by(zp::ranks& world, const std::string& file, int kill) {
    zp::training_options options;
    options.checkpoint = file;
    options.checkpoint_every = 1;
    options.resume = !file.empty();
    int steps = 0;
    return trained(world, options, [&](const zp::training_progress&) {
        if (world.rank() == 1 && ++steps == kill) std::raise(SIGKILL);
    });
}

bool calibrates_as_one(zp::ranks& world) {
    const auto xs = made_up::inputs<net>(samples, 3);
    const auto floats = zp::fuse(made_up::network<net>(1));
    const zp::part_range own = zp::part_range::of(samples, world.rank(), world.size());
    auto some = zp::prepare<exact>(floats), all = zp::prepare<exact>(floats);
    for (std::size_t i = 0; i != samples; ++i) {
        all.observe(xs[i].data());
        if (own.first <= i && i < own.last) some.observe(xs[i].data());
    }
    // [calibration]
    zp::merge_ranks(world, some);  // what all ranks have observed, on each
    // [/calibration]
    CHECK(some.samples() == samples);
    return zp::state_bytes(some) == zp::state_bytes(all);
}

std::string said_of_another_rate(zp::ranks& world) {
    zp::training_options options;
    options.start = {.batches = world.rank() == 1 ? 4u : 0u};
    return zp_test::error_of<zp::rank_error>([&] { trained(world, options, [](const zp::training_progress&) {}); });
}
std::string said_of_another_seed(zp::ranks& world) {
    zp::training_options options;
    options.seed = world.rank() == 1 ? 8 : 7;
    return zp_test::error_of<zp::rank_error>([&] { trained(world, options, [](const zp::training_progress&) {}); });
}

}  // namespace distributed_test
