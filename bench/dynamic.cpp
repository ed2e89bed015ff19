// SPDX-License-Identifier: BSD-3-Clause
// Layers that quantize their activations as they come: a linear layer, steps of recurrent ones, an encoder's layer. Peers
// are timed beside them by bench/peers/compare_dynamic.py.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/layer/linear.hpp>
#include <zeropoint/layer/recurrent.hpp>
#include <zeropoint/layer/transformer_encoder.hpp>

#include "support/measure.hpp"

namespace {

using arch = zp::default_architecture;
using int8 = zp::dynamic_policy<>;
/// One bit less in the activations: byte products are exact wherever there are any.
using seven_bits = zp::dynamic_policy<zp::quint8_reduced>;
constexpr zp::transformer mini_lm{384, 12, 1536, zp::feed_forward_activation::gelu};
constexpr int tokens = 64;

std::vector<float> floats(std::size_t count, std::uint32_t seed) {
    std::vector<float> values(count);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
    }
    return values;
}

/// `prepare` makes layer and buffers and gives back what is timed.
template <class Prepare> void add(const char* name, double products, Prepare prepare) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
        bench::measure(state, {2 * products}, prepare());
    })->UseManualTime();
}

template <int Inputs, int Outputs, int Rows, class Policy> void add_linear(const char* name) {
    add(name, double{Inputs} * Outputs * Rows, [] {
        using layer_type = zp::dynamic_linear<Inputs, Outputs, Policy, arch, Rows>;
        return [layer = std::make_shared<layer_type>(floats(std::size_t{Inputs} * Outputs, 1)),
                memory = std::make_shared<typename layer_type::workspace>(), x = floats(std::size_t{Inputs} * Rows, 2),
                y = std::vector<float>(std::size_t{Outputs} * Rows)]() mutable {
            layer->run(x.data(), Rows, y.data(), *memory);
        };
    });
}

template <class Layer, int Hidden, int Gates> void add_step(const char* name) {
    constexpr std::size_t sums = Gates * Hidden, inputs = Layer::inputs;
    add(name, double{sums} * (inputs + Hidden), [] {
        using layer_type = Layer;
        const auto weight_ih = floats(sums * inputs, 1), weight_hh = floats(sums * Hidden, 2), bias = floats(sums, 3);
        struct buffers {
            typename layer_type::workspace scratch;
            typename layer_type::state state;
            float y[Hidden];
        };
        return [layer = std::make_shared<layer_type>(weight_ih, weight_hh, bias, bias),
                memory = std::make_shared<buffers>(),
                x = floats(inputs, 4)] { layer->run(x.data(), 1, memory->state, memory->y, memory->scratch); };
    });
}

template <class Policy> void add_encoder(const char* name) {
    constexpr double products = double{tokens} * (4.0 * 384 * 384 + 2.0 * 384 * 1536 + 2.0 * tokens * 384);
    add(name, products, [] {
        using layer_type = zp::transformer_encoder_layer<mini_lm, tokens, Policy>;
        std::vector<std::vector<float>> all;
        const auto find = [&](const std::string&, int rows, int columns, bool) {
            const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns == 0 ? 1 : columns);
            all.push_back(floats(size, static_cast<std::uint32_t>(size)));
            for (float& value : all.back()) value *= 0.05f;
            return std::span<const float>(all.back());
        };
        all.reserve(16);
        return [layer = std::make_shared<layer_type>(find), memory = std::make_shared<typename layer_type::workspace>(),
                x = floats(384 * tokens, 5),
                y = std::vector<float>(384 * tokens)]() mutable { layer->run(x.data(), tokens, y.data(), *memory); };
    });
}

[[maybe_unused]] const bool registered = [] {
    add_linear<1024, 1024, 1, int8>("linear/1x1024x1024/int8");
    add_linear<1024, 1024, 1, seven_bits>("linear/1x1024x1024/7bit_activations");
    add_linear<1024, 1024, 1, zp::weight_only_policy<>>("linear/1x1024x1024/weight_only_8");
    add_linear<1024, 1024, 1, zp::weight_only_policy<zp::qint4, 32>>("linear/1x1024x1024/weight_only_4");
    add_linear<1024, 1024, 1, zp::float_policy>("linear/1x1024x1024/float");
    add_step<zp::dynamic_lstm<256, 256, int8>, 256, 4>("lstm_step/256/int8");
    add_step<zp::dynamic_lstm<256, 256, seven_bits>, 256, 4>("lstm_step/256/7bit_activations");
    add_step<zp::dynamic_gru<64, 64, int8>, 64, 3>("gru_step/64/int8");
    add_step<zp::float_gru<64, 64>, 64, 3>("gru_step/64/float");
    add_encoder<int8>("encoder_layer/64x384/int8");
    add_encoder<zp::float_policy>("encoder_layer/64x384/float");
    return true;
}();

}  // namespace
