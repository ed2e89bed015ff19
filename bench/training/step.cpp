// SPDX-License-Identifier: BSD-3-Clause
// Times steps of training: step <digits_cnn|mlp|resnet20> <float|qat|frozen> <steps>. Prints the seconds of a step of 64 samples, the first left
// out. See compare_pytorch.py, which runs it beside PyTorch. Batch norms of digits_cnn are folded before; those of resnet20 are trained, live
// or frozen.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/models/resnet.hpp>
#include <zeropoint/training/train.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"
#include "../../tests/support/generator.hpp"

namespace {

struct mlp : zp::model<zp::input<1, 1, 784>, zp::linear<"fc1", 512>, zp::relu, zp::linear<"fc2", 256>, zp::relu,
                       zp::linear<"fc3", 10>> {};
// clang-format off
/// He et al. (2015), of CIFAR-10, with projections where extents change.
namespace parts = zp::models::resnet_parts;
constexpr parts::stage stage16{.channels = 16}, stage32{.channels = 32, .stride = 2}, stage64{.channels = 64, .stride = 2};
struct resnet20 : zp::model<zp::input<32, 32, 3>,
    zp::conv2d<"conv1", zp::conv{.out_channels = 16, .kernel = 3, .padding = 1, .bias = false}>, zp::batch_norm2d<"bn1">, zp::relu,
    parts::block<"layer1.0", stage16>, parts::block<"layer1.1", stage16>, parts::block<"layer1.2", stage16>,
    parts::blocks<"layer2", stage32, 2>, parts::blocks<"layer3", stage64, 2>,
    zp::adaptive_avg_pool2d<1>, zp::flatten, zp::linear<"fc", 10>> {};
// clang-format on
struct qconfig : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::moving_average_min_max_observer<>>,
                             zp::quantizer<zp::qint8_narrow, zp::per_channel_symmetric, zp::min_max_observer>> {};

/// As PyTorch's layers begin, whose values matter to no time here.
template <class Net> zp::float_model<Net> network() {
    zp::float_model<Net> model;
    zp_test::generator next(1);
    for (const zp::node& row : model.rows()) {
        auto* values = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        const auto count = static_cast<std::size_t>(row.at.parameter_bytes) / sizeof(float);
        for (std::size_t i = 0; i != count; ++i)
            values[i] = next.real(-0.05f, 0.05f) + (row.op->kind == &zp::op::batch_norm);
    }
    return model;
}

template <class Net> double seconds_of_step(const std::string& kind, int steps) {
    constexpr int batch = 64;
    constexpr auto size = static_cast<std::size_t>(zp::float_model<Net>::input_shape.size());
    zp_test::generator next(2);
    std::vector<float> inputs(size * batch * 4);
    std::vector<int> labels(batch * 4);
    for (float& value : inputs) value = next.real(0, 1);
    for (int& label : labels) label = static_cast<int>(next.real(0, 9.99f));
    const zp::training_options options{.epochs = (steps + 3) / 4,
                                       .batch = batch,
                                       .optimizer = zp::sgd{.lr = 1e-3, .momentum = 0.9},
                                       .freeze_batch_norms_after = kind == "frozen" ? 0 : -1};
    double first = 0, last = 0;
    int done = 0;
    const auto progress = [&](const zp::training_progress& now) {
        last = now.seconds;
        if (done++ == 0) first = now.seconds;
    };
    const auto step = [&](auto floats) {
        if (kind == "float") {
            zp::train(floats, zp::labelled(inputs, labels), options, zp::executors::serial{}, progress);
        } else {
            auto qat = zp::prepare_qat<qconfig>(floats);
            zp::train(qat, zp::labelled(inputs, labels), options, zp::executors::serial{}, progress);
        }
    };
    if constexpr (std::is_same_v<Net, resnet20>) step(network<Net>());
    else step(zp::fuse(network<Net>()));
    return (last - first) / (done - 1);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: step <digits_cnn|mlp|resnet20> <float|qat|frozen> <steps>\n");
        return 2;
    }
    const std::string net = arguments[1], kind = arguments[2];
    const int steps = std::atoi(arguments[3]);
    const double seconds = net == "mlp"        ? seconds_of_step<mlp>(kind, steps)
                           : net == "resnet20" ? seconds_of_step<resnet20>(kind, steps)
                                               : seconds_of_step<digits_cnn>(kind, steps);
    std::printf("%.9f\n", seconds);
}
