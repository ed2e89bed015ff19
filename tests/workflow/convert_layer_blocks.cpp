// SPDX-License-Identifier: BSD-3-Clause
// Layers that are made of others: causal_conv1d and squeeze_excite, beside formulas and beside what they are made of.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <zeropoint/io/tensors_in_file.hpp>
#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators/causal_conv1d.hpp>
#include <zeropoint/operators/squeeze_excite.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "../support/arrays.hpp"
#include "../support/made_up.hpp"

namespace {
namespace layer_blocks_test {

using zp::conv;
struct config : zp::qconfig<zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>,
                            zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>> {};

constexpr int steps = 17, features = 5;
struct back : zp::model<zp::input<1, steps, features>,
                        zp::causal_conv1d<"c1", conv{.out_channels = 7, .kernel = 3, .dilation = 4}>, zp::relu,
                        zp::causal_conv1d<"c2", conv{.kernel = {1, 2}, .groups = zp::depthwise, .bias = false}>> {};
struct strided : zp::model<zp::input<1, steps, features>,
                           zp::causal_conv1d<"c1", conv{.out_channels = 7, .kernel = 3, .stride = 2}>> {};

constexpr int squeezed = 3;
struct gated : zp::model<zp::input<3, 4, 6>, zp::squeeze_excite<"se", squeezed>> {};
struct hard : zp::model<zp::input<3, 4, 6>, zp::squeeze_excite<"se", squeezed, zp::silu, zp::hard_sigmoid>> {};

template <class Net> std::string tensors() {
    std::string text;
    for (const zp::tensor_in_file& one : zp::tensors_in_file<zp::float_stage<Net>>())
        text += one.name + " " + zp::to_string(one.shape) + "; ";
    return text;
}
double signal_to_noise(const std::vector<float>& expected, const std::vector<float>& y) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i != y.size(); ++i) {
        signal += double{expected[i]} * double{expected[i]};
        noise += double{y[i] - expected[i]} * double{y[i] - expected[i]};
    }
    return 10 * std::log10(signal / noise);
}

/// y[t][c] = b[c] + the sum of w[c][k][j] * x[t - (2 - j) * 4][k], in double.
std::vector<double> causal(const zp::float_model<back>& model, const std::vector<float>& x) {
    const auto w = zp_test::array_of(model, model.rows()[2], 0), b = zp_test::array_of(model, model.rows()[2], 1);
    std::vector<double> y;
    for (int t = 0; t != steps; ++t)
        for (std::size_t c = 0; c != 7; ++c) {
            double sum = double{b[c]};
            for (int j = 0; j != 3; ++j)
                for (int k = 0; k != features; ++k)
                    if (const int from = t - (2 - j) * 4; from >= 0)  // filters are out x taps x in here
                        sum +=
                            double{w[(c * 3 + static_cast<std::size_t>(j)) * features + static_cast<std::size_t>(k)]} *
                            double{x[static_cast<std::size_t>(from * features + k)]};
            y.push_back(sum);
        }
    return y;
}
/// x times the gate of its channels' means, in double.
template <class Net, class Activation, class Gate>
std::vector<double> excited(const zp::float_model<Net>& model, const std::vector<float>& x, Activation activation,
                            Gate gate) {
    constexpr std::size_t channels = 6, pixels = 12;
    std::vector<std::span<const float>> arrays;
    for (const zp::node& n : model.rows())
        if (n.op->multiplies)
            for (const int i : {0, 1}) arrays.push_back(zp_test::array_of(model, n, i));
    std::vector<double> mean(channels), hidden(squeezed), factor(channels), y(x.size());
    for (std::size_t i = 0; i != x.size(); ++i) mean[i % channels] += double{x[i]} / pixels;
    for (std::size_t s = 0; s != squeezed; ++s) {
        hidden[s] = double{arrays[1][s]};
        for (std::size_t c = 0; c != channels; ++c) hidden[s] += double{arrays[0][s * channels + c]} * mean[c];
        hidden[s] = activation(hidden[s]);
    }
    for (std::size_t c = 0; c != channels; ++c) {
        factor[c] = double{arrays[3][c]};
        for (std::size_t s = 0; s != squeezed; ++s) factor[c] += double{arrays[2][c * squeezed + s]} * hidden[s];
        factor[c] = gate(factor[c]);
    }
    for (std::size_t i = 0; i != x.size(); ++i) y[i] = double{x[i]} * factor[i % channels];
    return y;
}
template <class Net, class Activation, class Gate> void check_excited(Activation activation, Gate gate) {
    const auto trained = made_up::network<Net>(4);
    const auto inputs = made_up::inputs<Net>(40, 4);
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(trained), inputs));
    std::vector<float> expected, y(72), all;
    for (const auto& x : inputs) {
        trained(x, y);
        const std::vector<double> real = excited(trained, x, activation, gate);
        for (std::size_t i = 0; i != y.size(); ++i) CHECK(double{y[i]} == doctest::Approx(real[i]).epsilon(1e-5));
        expected.insert(expected.end(), y.begin(), y.end());
        int8(x, y);
        all.insert(all.end(), y.begin(), y.end());
    }
    CHECK(signal_to_noise(expected, all) > 30);
}

}  // namespace layer_blocks_test
}  // namespace

TEST_CASE("causal_conv1d: each step of the formula, and a stream in int8 to the last bit") {
    using namespace layer_blocks_test;
    CHECK(tensors<back>() == "c1.weight [7, 5, 3]; c1.bias [7]; c2.weight [7, 1, 2]; ");
    CHECK(zp::float_model<back>::output_shape == zp::shape{1, steps, 7});
    CHECK(zp::float_model<strided>::output_shape == zp::shape{1, 9, 7});  // ceil(17 / 2)
    const auto trained = made_up::network<back>(2);
    const auto inputs = made_up::inputs<back>(33, 2);
    std::vector<float> y(static_cast<std::size_t>(steps * 7));
    const void* const xs[] = {inputs[0].data()};
    void* const ys[] = {y.data()};
    zp::float_model<back>::workspace memory;
    trained.run(xs, ys, memory.bytes, [&](int row, const void* values) {
        if (row != 2) return;
        const std::vector<double> real = causal(trained, inputs[0]);
        for (std::size_t i = 0; i != real.size(); ++i)
            CHECK(double{static_cast<const float*>(values)[i]} == doctest::Approx(real[i]).epsilon(1e-5));
    });

    const auto int8 = zp::convert(zp::calibrate(zp::prepare<config>(trained), inputs));
    zp::streaming<zp::quantized<back, config>> stream(int8);
    std::vector<float> step(7);
    for (const auto& x : {inputs[3], inputs[4]}) {
        int8(x, y);
        stream.reset();
        for (std::size_t t = 0; t != steps; ++t) {
            stream(std::span(x).subspan(t * features, features), step);
            CHECK(std::equal(step.begin(), step.end(), y.begin() + static_cast<std::ptrdiff_t>(t * 7)));
        }
    }
}

TEST_CASE("squeeze_excite: the formula in float, torchvision's names, near it in int8") {
    using namespace layer_blocks_test;
    CHECK(tensors<gated>() ==
          "se.fc1.weight [3, 6, 1, 1]; se.fc1.bias [3]; se.fc2.weight [6, 3, 1, 1]; se.fc2.bias [6]; ");
    check_excited<gated>([](double v) { return std::max(v, 0.0); }, [](double v) { return 1 / (1 + std::exp(-v)); });
    check_excited<hard>([](double v) { return v / (1 + std::exp(-v)); },
                        [](double v) { return std::min(std::max(v + 3, 0.0), 6.0) / 6; });
}
