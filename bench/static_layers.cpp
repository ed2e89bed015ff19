// SPDX-License-Identifier: BSD-3-Clause
// Layers whose extents are part of their type, of the small sizes where every loop and every call counts.
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/layer/static_layers.hpp>

#include "support/measure.hpp"
#include "support/operands.hpp"

namespace {

/// Weights of full range, so that no panel is spared the exact kernels.
template <class Layer> void run(benchmark::State& state, int depth) {
    constexpr int channels = Layer::output_shape.channels;
    std::vector<float> weights;
    for (const std::int8_t code : bench::make_weights(bench::weights::gaussian, channels, depth))
        weights.push_back(static_cast<float>(code) / 127);
    const std::vector<float> bias(static_cast<std::size_t>(channels), 0.1f);
    const Layer layer(weights, bias, {0.02f, 128}, {0.1f, 128});
    const auto x = bench::make_activations(static_cast<std::size_t>(Layer::input_shape.size()), bench::eight_bits);
    std::vector<std::uint8_t> y(static_cast<std::size_t>(Layer::output_shape.size()));
    const auto memory = std::make_unique<typename Layer::workspace>();
    bench::measure(state, {2.0 * Layer::output_shape.size() * depth}, [&] { layer.run(x.data(), y.data(), *memory); });
    state.SetLabel(std::string(name_of(Layer::algorithm)) + ", parameters " + std::to_string(Layer::parameter_bytes) +
                   " B");
}

template <int Inputs, int Outputs> void linear(benchmark::State& state) {
    run<zp::quantized_linear<Inputs, Outputs, zp::op::relu>>(state, Inputs);
}
/// Rows that share their weights, as a 1x1 convolution over a column of pixels.
template <int Rows, int Inputs, int Outputs> void rows(benchmark::State& state) {
    run<zp::quantized_conv2d<zp::shape{Rows, 1, Inputs}, zp::conv{.out_channels = Outputs}, zp::op::relu>>(state,
                                                                                                           Inputs);
}
template <int Extent, int Inputs, int Outputs> void conv3x3(benchmark::State& state) {
    run<zp::quantized_conv2d<zp::shape{Extent, Extent, Inputs},
                             zp::conv{.out_channels = Outputs, .kernel = 3, .padding = 1}, zp::op::relu>>(state,
                                                                                                          9 * Inputs);
}

BENCHMARK_TEMPLATE(linear, 16, 16)->UseManualTime();
BENCHMARK_TEMPLATE(linear, 64, 64)->UseManualTime();
BENCHMARK_TEMPLATE(linear, 64, 16)->UseManualTime();
BENCHMARK_TEMPLATE(linear, 256, 128)->UseManualTime();
BENCHMARK_TEMPLATE(rows, 8, 32, 32)->UseManualTime();
BENCHMARK_TEMPLATE(rows, 16, 64, 64)->UseManualTime();
BENCHMARK_TEMPLATE(conv3x3, 8, 1, 8)->UseManualTime();
BENCHMARK_TEMPLATE(conv3x3, 8, 16, 16)->UseManualTime();

}  // namespace
