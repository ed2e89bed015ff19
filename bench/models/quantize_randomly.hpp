// SPDX-License-Identifier: BSD-3-Clause
// Weights, images and calibration for networks that are only timed: the same numbers on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <zeropoint/io/model_file.hpp>
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

/// One tensor of a state dict. Weights are Gaussian of variance 2 / fan_in (He's initialization, what torchvision starts
/// from), biases small, and batch norms not the identity. Distributions matter: they decide which kernels a panel of weights
/// can take, and trained weights look like these.
inline std::vector<float> random_parameters(const zp::file_tensor& like, random_numbers& random) {
    std::int64_t size = 1;
    for (const std::int64_t extent : like.shape) size *= extent;
    std::vector<float> values(static_cast<std::size_t>(size));
    const std::string_view name = like.name;
    if (like.shape.size() > 1) {
        const float deviation = std::sqrt(2.0f * static_cast<float>(like.shape[0]) / static_cast<float>(size));
        for (float& value : values) value = deviation * random.gaussian();
    } else if (name.ends_with(".bias") || name.ends_with(".running_mean")) {
        for (float& value : values) value = random.uniform(-0.25f, 0.25f);
    } else {  // a batch norm's factors and variances
        for (float& value : values) value = random.uniform(0.75f, 1.25f);
    }
    return values;
}

/// The float network, loaded from a file of such parameters: which ones there are, a network says that is saved.
template <class Net> zp::float_model<Net> with_random_weights(std::uint64_t seed = 1) {
    random_numbers random(seed);
    const auto untrained = zp::safetensors_file::parse(zp::to_bytes(zp::float_model<Net>()), "untrained");
    zp::safetensors_writer file;
    for (const zp::file_tensor& tensor : untrained.tensors())
        file.add(tensor.name, tensor.shape, random_parameters(tensor, random));
    return zp::load<Net>(file.bytes());
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
zp::quantized<Net, zp::default_qconfig> quantize_randomly(const zp::fused<Net>& fused, int calibration_inputs = 16) {
    return zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(fused), random_inputs<Net>(calibration_inputs)));
}

}  // namespace models
