// SPDX-License-Identifier: BSD-3-Clause
// Whole training steps beside PyTorch's: scripts/golden/training_loop.py tells what the network and the data are.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/training/train.hpp>

#include "../support/golden_file.hpp"

namespace {

struct net : zp::model<zp::input<6, 6, 2>, zp::conv2d<"conv1", zp::conv{.out_channels = 4, .kernel = 3, .padding = 1}>,
                       zp::relu, zp::max_pool2d<2>,
                       zp::residual<zp::conv2d<"conv2", zp::conv{.out_channels = 4, .kernel = 3, .padding = 1}>>,
                       zp::relu, zp::flatten, zp::linear<"fc", 3>> {};

using weights = zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>;
struct coded : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>, weights> {};
struct learned
    : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::learned_step<zp::min_max_observer>>, weights> {};

const zp_test::golden_file& golden() {
    static const zp_test::golden_file file("training_loop");
    return file;
}
std::vector<zp::trained_part> parts() {
    std::vector<zp::trained_part> all;
    zp::detail::append_parts_of_parameters<zp::fused_stage<net>>(all);
    return all;
}
zp::fused<net> start() {
    zp::fused<net> floats;
    auto* values = reinterpret_cast<float*>(floats.parameters());
    for (const zp::trained_part& part : parts()) {
        const auto from = golden().values<float>("start/" + part.name);
        std::copy(from.begin(), from.end(), values + part.offset);
    }
    return floats;
}
/// Six steps, as the script's; `values` are the network's, first those of the parameters.
template <class Network>
void check_steps(const std::string& kind, Network& network, const float* values, double tolerance) {
    const auto images = golden().values<float>("data/images");
    const auto labels = golden().values<std::int32_t>("data/labels");
    std::vector<double> losses;
    zp::train(network, zp::labelled(images, labels),
              {.epochs = 3,
               .batch = 8,
               .block = 3,
               .optimizer = zp::sgd{.lr = 0.01, .momentum = 0.9, .scales_lr = 1e-4},
               .shuffle = false},
              zp::executors::serial{}, [&](const zp::training_progress& now) { losses.push_back(now.loss); });
    const auto expected = golden().values<float>(kind + "/losses");
    REQUIRE(losses.size() == expected.size());
    for (std::size_t i = 0; i != losses.size(); ++i) {
        INFO(kind, ", step ", i, ": loss ", losses[i], ", PyTorch's ", expected[i]);
        CHECK(std::fabs(losses[i] - double{expected[i]}) < tolerance);
    }
    for (const zp::trained_part& part : parts()) {
        const auto wanted = golden().values<float>(kind + "/" + part.name);
        REQUIRE(wanted.size() == part.count);
        double largest = 0, distance = 0;
        for (std::size_t k = 0; k != part.count; ++k) {
            largest = std::max(largest, std::fabs(double{wanted[k]}));
            distance = std::max(distance, std::fabs(double{wanted[k]} - double{values[part.offset + k]}));
        }
        INFO(kind, ", ", part.name, ": ", distance, " of ", largest);
        CHECK(distance < tolerance * largest);
    }
}
template <class Config> zp::fake_quantized<net, Config> calibrated() {
    const auto images = golden().values<float>("data/images");
    return zp::prepare_qat(zp::calibrate(zp::prepare<Config>(start()), images));
}

}  // namespace

TEST_CASE("train: six steps in float are PyTorch's") {
    auto floats = start();
    check_steps("float", floats, reinterpret_cast<const float*>(floats.parameters()), 2e-6);
}
TEST_CASE("train: six steps as int8 are those of PyTorch's fake quantization at the same places") {
    auto qat = calibrated<coded>();
    check_steps("coded", qat, qat.values().data(), 1e-4);
}
TEST_CASE("train: so are six steps with learned scales") {
    auto qat = calibrated<learned>();
    check_steps("learned", qat, qat.values().data(), 1e-3);
    const auto expected = golden().values<float>("learned/scales");
    std::vector<float> found;
    for (const zp::trained_part& part : qat.parts())
        if (part.name.ends_with(".scale")) found.push_back(qat.values()[part.offset]);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i != found.size(); ++i) {
        INFO("scale ", i, ": ", found[i], ", PyTorch's ", expected[i]);
        CHECK(std::fabs(found[i] - expected[i]) < 1e-3f * expected[i]);
    }
}
TEST_CASE("train: all golden vectors of whole steps are read") {
    CHECK(zp_test::unread_tensors("training_loop").empty());
}
