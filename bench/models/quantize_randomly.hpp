// Weights, images and calibration for networks that are only timed: the same numbers on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/batch_norm.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/fuse.hpp>
#include <zeropoint/workflow/prepare.hpp>
#include <zeropoint/workflow/presets.hpp>

namespace models {

/// The generator splitmix64.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t bits() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// Uniform in [low, high).
    float uniform(float low, float high) { return low + (high - low) * (static_cast<float>(bits() >> 40) * 0x1p-24f); }
    /// Mean 0, variance 1: a sum of twelve uniform numbers, as near to Gaussian as timing needs, and without libm.
    float gaussian() {
        int sum = 0;
        for (int i = 0; i != 3; ++i) {
            const std::uint64_t four = bits();
            for (int part = 0; part != 64; part += 16) sum += static_cast<int>((four >> part) & 0xffff);
        }
        return static_cast<float>(sum - 6 * 65535) * 0x1p-16f;
    }

private:
    std::uint64_t state_;
};

/// The float network with Gaussian weights of variance 2 / fan_in (He's initialization, what torchvision starts from),
/// small biases, and batch norms that are not the identity. Distributions matter: they decide which kernels a panel of
/// weights can take, and trained weights look like these.
template <class Net> zp::float_model<Net> with_random_weights(std::uint64_t seed = 1) {
    zp::float_model<Net> model;
    random_numbers random(seed);
    for (const zp::node& row : model.rows()) {
        auto* block = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        const zp::parameter_list list = zp::parameters_of({model.rows().data(), row});
        const auto fill = [&](int array, float low, float high) {
            float* values = block + list.offset_of(array);
            for (int i = 0; i != list.arrays[array].size(); ++i) values[i] = random.uniform(low, high);
        };
        if (row.op->kind == &zp::op::batch_norm) {
            fill(0, 0.75f, 1.25f);   // weight
            fill(1, -0.25f, 0.25f);  // bias
            fill(2, -0.25f, 0.25f);  // running_mean
            fill(3, 0.75f, 1.25f);   // running_var
        } else if (row.op->multiplies) {
            const float deviation =
                std::sqrt(2.0f * static_cast<float>(row.weights.channels) / static_cast<float>(row.weights.count));
            for (float& value : std::span(block, static_cast<std::size_t>(row.weights.count)))
                value = deviation * random.gaussian();
            if (row.weights.has_bias) fill(1, -0.25f, 0.25f);
        }
    }
    return model;
}

/// Inputs of a network, height x width x channels, of mean 0 and variance 1 as normalized images are.
template <class Net> std::vector<std::vector<float>> random_inputs(int count, std::uint64_t seed = 2) {
    std::vector<std::vector<float>> all(static_cast<std::size_t>(count));
    random_numbers random(seed);
    for (auto& values : all) {
        values.resize(static_cast<std::size_t>(zp::float_model<Net>::input_shape.size()));
        for (float& value : values) value = random.gaussian();
    }
    return all;
}

/// The int8 network under the default qconfig, calibrated on a few random inputs.
template <class Net>
zp::quantized<Net, zp::default_qconfig> quantize_randomly(const zp::fused<Net>& fused, int calibration_inputs = 4) {
    return zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(fused), random_inputs<Net>(calibration_inputs)));
}

}  // namespace models
