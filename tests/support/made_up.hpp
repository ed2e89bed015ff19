// SPDX-License-Identifier: BSD-3-Clause
// Networks with made-up parameters and made-up inputs: the same numbers on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/operators/batch_norm.hpp>

#include "generator.hpp"
#include "nodes.hpp"

namespace made_up {

using zp_test::generator;

inline std::vector<float> values(std::size_t count, std::uint64_t seed, float low = -1, float high = 1) {
    generator next(seed);
    std::vector<float> all(count);
    for (float& value : all) value = next.real(low, high);
    return all;
}

/// The float network of a model, its parameters of a size that keeps activations near 1.
template <class Net> zp::float_model<Net> network(std::uint64_t seed = 1) {
    zp::float_model<Net> model;
    generator next(seed);
    for (const zp::node& row : model.rows()) {
        auto* block = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        if (zp_test::is(row, zp::op::batch_norm)) {
            const bool affine = zp::parameters_of(zp_test::view_of(model.rows(), row)).arrays[0].in_state_dict;
            for (float& value : zp_test::array_of(model, row, 0)) value = affine ? next.real(0.5f, 1.5f) : 1.0f;
            for (float& value : zp_test::array_of(model, row, 1)) value = affine ? next.real(-0.5f, 0.5f) : 0.0f;
            for (float& value : zp_test::array_of(model, row, 2)) value = next.real(-0.5f, 0.5f);
            for (float& value : zp_test::array_of(model, row, 3)) value = next.real(0.25f, 2.0f);
        } else if (row.weights.count != 0) {
            const float size = std::sqrt(
                6.0f / static_cast<float>(row.weights.channels == 0 ? 1 : row.weights.count / row.weights.channels));
            for (int i = 0; i != row.weights.count; ++i) block[i] = next.real(-size, size);
            if (row.weights.has_bias)
                for (float& value : zp_test::array_of(model, row, 1)) value = next.real(-0.5f, 0.5f);
        }
    }
    return model;
}

/// Inputs of a model, uniform in [low, high).
template <class Net>
std::vector<std::vector<float>> inputs(std::size_t count, std::uint64_t seed = 2, float low = -1, float high = 1) {
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i != count; ++i)
        all.push_back(
            values(static_cast<std::size_t>(zp::float_model<Net>::input_shape.size()), seed * 1000 + i, low, high));
    return all;
}

/// The weights of a layer in the library's order, and its biases (zeros where it has none).
struct layer_floats {
    std::vector<float> weights, bias;
};
template <class Network> layer_floats parameters_of(const Network& model, const char* name) {
    for (const zp::node& row : model.rows()) {
        if (std::string_view(row.name) != name) continue;
        if (row.weights.channels == 0) {  // no filters: all of its arrays
            const auto* floats = reinterpret_cast<const float*>(model.parameters() + row.at.parameter_offset);
            return {{floats, floats + row.weights.count}, {}};
        }
        const auto weights = zp_test::array_of(model, row, 0), bias = zp_test::array_of(model, row, 1);
        return {{weights.begin(), weights.end()}, {bias.begin(), bias.end()}};
    }
    return {};
}

}  // namespace made_up
