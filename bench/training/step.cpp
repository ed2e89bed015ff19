// Times steps of training: step <digits_cnn|mlp> <float|qat> <steps>. Prints the seconds of a step of 64 samples, the first left out. See
// compare_pytorch.py, which runs it beside PyTorch.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <zeropoint/training/train.hpp>
#include <zeropoint/zeropoint.hpp>

#include "../../examples/01_digits/digits_cnn.hpp"
#include "../../tests/support/generator.hpp"

namespace {

struct mlp : zp::model<zp::input<1, 1, 784>, zp::linear<"fc1", 512>, zp::relu, zp::linear<"fc2", 256>, zp::relu,
                       zp::linear<"fc3", 10>> {};
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

template <class Net> double seconds_of_step(bool is_qat, int steps) {
    constexpr int batch = 64;
    constexpr auto size = static_cast<std::size_t>(zp::float_model<Net>::input_shape.size());
    zp_test::generator next(2);
    std::vector<float> inputs(size * batch * 4);
    std::vector<int> labels(batch * 4);
    for (float& value : inputs) value = next.real(0, 1);
    for (int& label : labels) label = static_cast<int>(next.real(0, 9.99f));
    const zp::training_options options{
        .epochs = (steps + 3) / 4, .batch = batch, .optimizer = zp::sgd{.lr = 1e-3, .momentum = 0.9}};
    double first = 0, last = 0;
    int done = 0;
    const auto progress = [&](const zp::training_progress& now) {
        last = now.seconds;
        if (done++ == 0) first = now.seconds;
    };
    auto floats = zp::fuse(network<Net>());
    if (is_qat) {
        auto qat = zp::prepare_qat<qconfig>(floats);
        zp::train(qat, zp::labelled(inputs, labels), options, zp::executors::serial{}, progress);
    } else {
        zp::train(floats, zp::labelled(inputs, labels), options, zp::executors::serial{}, progress);
    }
    return (last - first) / (done - 1);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: step <digits_cnn|mlp> <float|qat> <steps>\n");
        return 2;
    }
    const bool is_qat = std::strcmp(arguments[2], "qat") == 0;
    const int steps = std::atoi(arguments[3]);
    const double seconds = std::strcmp(arguments[1], "mlp") == 0 ? seconds_of_step<mlp>(is_qat, steps)
                                                                 : seconds_of_step<digits_cnn>(is_qat, steps);
    std::printf("%.9f\n", seconds);
}
