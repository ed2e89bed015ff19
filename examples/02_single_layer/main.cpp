// SPDX-License-Identifier: BSD-3-Clause
// One fully connected layer with hardswish behind it, quantized by hand. No model: each piece works on its own.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/layer/static_layers.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>
#include <zeropoint/scheme/tensor.hpp>

constexpr std::size_t inputs = 128, outputs = 64;
using layer = zp::quantized_linear<inputs, outputs>;  // quint8 in and out, qint8 weights with a scale an output
using vector = std::vector<float>;

double hardswish(double y) { return y * std::clamp(y + 3, 0.0, 6.0) / 6; }

/// The layer in float: y = weights x + bias.
vector linear(const vector& weights, const vector& bias, const vector& x) {
    vector y = bias;
    for (std::size_t o = 0; o != y.size(); ++o)
        for (std::size_t i = 0; i != x.size(); ++i) y[o] += weights[o * x.size() + i] * x[i];
    return y;
}

/// Adds up what a stage should give and what it gave.
struct comparison {
    const char* stage;
    double signal = 0, noise = 0, worst = 0;

    void add(std::span<const float> expected, std::span<const float> found) {
        for (std::size_t i = 0; i != expected.size(); ++i) {
            const double x = double{expected[i]}, error = std::abs(x - double{found[i]});
            signal += x * x;
            noise += error * error;
            worst = std::max(worst, error);
        }
    }
    double decibel() const { return 10 * std::log10(signal / noise); }
    void print() const { std::printf("%-34s %8.1f dB %12.5f\n", stage, decibel(), worst); }
};

/// What the codes of a tensor stand for.
vector real_values(const zp::tensor<zp::quint8>& codes) {
    vector values(codes.size());
    zp::dequantize<zp::quint8>(codes.values(), codes.quantization, values);
    return values;
}

int main() {
    // A trained layer and its data, for the sake of the example: filters of very different sizes, inputs from 0 up.
    std::mt19937 random(1);
    const auto number = [&] { return static_cast<float>(random()) / 4294967296.0f - 0.5f; };
    vector weights(inputs * outputs), bias(outputs);
    for (std::size_t i = 0; i != weights.size(); ++i) weights[i] = number() * (i / inputs % 8 == 0 ? 0.4f : 0.1f);
    for (float& b : bias) b = number();
    std::vector<vector> samples(1000, vector(inputs));
    for (vector& x : samples)
        for (float& value : x) value = 4 * std::max(0.0f, number() + number());

    // 1. A quantizer on a span of floats: one scale for all weights, then one for each output.
    std::vector<std::int8_t> codes(weights.size());
    vector restored(weights.size());
    const auto range_of = [](std::span<const float> values) {
        const auto [min, max] = std::minmax_element(values.begin(), values.end());
        return zp::choose_qparams<zp::qint8, zp::per_tensor_symmetric>(*min, *max);
    };
    comparison per_tensor{"weights, one scale"}, per_channel{"weights, a scale an output"};
    const zp::qparams one = range_of(weights);
    zp::quantize<zp::qint8>(weights, one, codes);
    zp::dequantize<zp::qint8>(codes, one, restored);
    per_tensor.add(weights, restored);

    std::vector<zp::qparams> each;
    for (std::size_t o = 0; o != outputs; ++o) each.push_back(range_of(std::span(weights).subspan(o * inputs, inputs)));
    zp::quantize_per_channel<zp::qint8>(weights, each, inputs, codes);
    zp::dequantize_per_channel<zp::qint8>(codes, each, inputs, restored);
    per_channel.add(weights, restored);

    // 2. Observers learn the ranges of the activations from the first quarter of the samples.
    zp::min_max_observer x_observer, y_observer, z_observer;
    for (std::size_t i = 0; i != samples.size() / 4; ++i) {
        const vector y = linear(weights, bias, samples[i]);
        vector z;
        for (const float value : y) z.push_back(static_cast<float>(hardswish(double{value})));
        x_observer.observe({.values = samples[i]});
        y_observer.observe({.values = y});
        z_observer.observe({.values = z});
    }
    const auto chosen = [](const zp::min_max_observer& observer, const char* where) {
        return observer.calculate_qparams<zp::quint8, zp::per_tensor_affine>(where).front();
    };
    zp::tensor<zp::quint8> x({1, 1, inputs}, chosen(x_observer, "x"));
    zp::tensor<zp::quint8> y({1, 1, outputs}, chosen(y_observer, "y"));
    zp::tensor<zp::quint8> z({1, 1, outputs}, chosen(z_observer, "z"));

    // 3. The layer, packed once, and its activation as a table of 256 entries.
    const layer int8(weights, bias, x.quantization, y.quantization);
    std::array<std::uint8_t, zp::kernel::lookup_table_size> table;
    zp::kernel::make_lookup_table<std::uint8_t>(hardswish, y.quantization.scale, y.quantization.zero_point,
                                                z.quantization.scale, z.quantization.zero_point, 0, 255, table.data());

    // 4. Run: no floats between x and z.
    comparison of_x{"x"}, of_y{"y = weights x + bias"}, of_z{"hardswish(y)"};
    layer::workspace memory;
    for (const vector& sample : samples) {
        zp::quantize<zp::quint8>(sample, x.quantization, x.values());
        int8(x, y, memory);
        zp::kernel::lookup_table<zp::default_architecture>(y.data(), y.size(), table.data(), z.data());

        vector expected = linear(weights, bias, sample);
        of_x.add(sample, real_values(x));
        of_y.add(expected, real_values(y));
        for (float& value : expected) value = static_cast<float>(hardswish(double{value}));
        of_z.add(expected, real_values(z));
    }

    std::printf("%-34s %11s %12s\n", "against float, over 1000 samples", "SQNR", "worst error");
    for (const comparison& stage : {per_tensor, per_channel, of_x, of_y, of_z}) stage.print();
    std::printf("\n%zu bytes of float weights and bias became %d\n", (weights.size() + bias.size()) * sizeof(float),
                layer::parameter_bytes);
    return of_z.decibel() > 30 && per_channel.decibel() > per_tensor.decibel() ? 0 : 1;
}
