// SPDX-License-Identifier: BSD-3-Clause
// State dicts that PyTorch and this library make alike, number by number, and what is committed of PyTorch's results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/io/model_file.hpp>

#include "../support/nodes.hpp"

namespace networks {

/// The i-th number of a tensor, uniform in [-1, 1): a multiple of 2^-23, which depends on nothing but name and i.
class hashed_values {
public:
    explicit hashed_values(std::string_view name) {
        for (const char c : name) seed_ = (seed_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;  // FNV-1a
    }
    float operator()(std::size_t i) const {
        std::uint64_t z = seed_ + (i + 1) * std::uint64_t{0x9e3779b97f4a7c15u};  // splitmix64
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return static_cast<float>(static_cast<std::int64_t>((z ^ (z >> 31)) >> 40) - (1 << 23)) * 0x1p-23f;
    }

private:
    std::uint64_t seed_ = 0xcbf29ce484222325u;
};

/// A parameter as scripts/golden/networks.py makes it: weights with He's deviation; what has one dimension (biases, the
/// scales of norms) within a quarter of 0 or 1; biases of batch norms within 1 of 0, as large as the scales: so each channel
/// keeps a part that does not depend on the image (docs/models.md).
inline std::vector<float> made_up_parameter(const std::string& name, const zp::file_shape& shape, bool of_batch_norm) {
    std::size_t size = 1;
    for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
    const hashed_values hashed(name);
    std::vector<float> values(size);
    if (shape.size() == 1) {
        const bool is_bias = name.ends_with(".bias");
        const float middle = is_bias ? 0.0f : 1.0f, width = is_bias && of_batch_norm ? 1.0f : 0.25f;
        for (std::size_t i = 0; i != size; ++i) values[i] = middle + hashed(i) * width;
    } else {
        const auto bound = static_cast<float>(std::sqrt(6.0 * static_cast<double>(shape[0]) /
                                                        static_cast<double>(size)));  // correctly rounded everywhere
        for (std::size_t i = 0; i != size; ++i) values[i] = hashed(i) * bound;
    }
    return values;
}

/// What a network's state dict holds, for comparing with PyTorch's: how many numbers, and a hash of names and shapes.
struct inventory {
    std::int64_t trained = 0;  // without the batch norms' statistics
    std::uint64_t hash = 0;
};

/// The state dict, as a file, of a network whose tensors are told by `zeros`, a file of the same network.
inline std::vector<std::byte> made_up_state_dict(const zp::safetensors_file& zeros, inventory& found) {
    zp::safetensors_writer writer;
    std::vector<std::string> lines;
    for (const zp::file_tensor& tensor : zeros.tensors()) {
        std::string line = tensor.name;
        for (const std::int64_t extent : tensor.shape) line += " " + std::to_string(extent);
        lines.push_back(line + "\n");
        const std::string layer = tensor.name.substr(0, tensor.name.rfind('.'));
        const bool of_batch_norm = zeros.find(layer + ".running_mean") != nullptr;
        writer.add(tensor.name, tensor.shape, made_up_parameter(tensor.name, tensor.shape, of_batch_norm));
        if (tensor.name.find(".running_") == std::string::npos)
            found.trained += static_cast<std::int64_t>(tensor.size());
    }
    std::sort(lines.begin(), lines.end());
    found.hash = 0xcbf29ce484222325u;
    for (const std::string& line : lines)
        for (const char c : line) found.hash = (found.hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return writer.bytes();
}

/// A network without statistics, with these parameters.
template <class Net> zp::float_model<Net> hashed_model() {
    inventory found;
    const auto zeros = zp::to_bytes(zp::float_model<Net>());
    return zp::load<Net>(made_up_state_dict(zp::safetensors_file::parse(zeros, "zeros"), found));
}

/// Images, height x width x channels as the library has them, the same numbers as in PyTorch.
template <class Net> std::vector<std::vector<float>> images(const std::string& name, int count) {
    constexpr zp::shape extents = zp::float_model<Net>::input_shape;
    std::vector<std::vector<float>> all;
    for (int n = 0; n != count; ++n) {
        const hashed_values hashed(name + " " + std::to_string(n));
        std::vector<float>& image = all.emplace_back(static_cast<std::size_t>(extents.size()));
        std::size_t i = 0;
        for (int c = 0; c != extents.channels; ++c)  // PyTorch's order
            for (int pixel = 0; pixel != extents.pixels(); ++pixel)
                image[static_cast<std::size_t>(pixel * extents.channels + c)] = hashed(i++);
    }
    return all;
}

/// Sets the statistics of every batch norm to those of its input over some images, layer by layer: mean, and variance
/// plus 0.01. Returns the averages over the channels of both, a pair a batch norm.
template <class Net>
std::vector<float> estimate_statistics(zp::float_model<Net>& model, const std::vector<std::vector<float>>& inputs) {
    using network = zp::float_model<Net>;
    std::vector<float> averages, output(static_cast<std::size_t>(network::output_shape.size()));
    std::vector<std::unique_ptr<typename network::workspace>> memory;
    for (std::size_t n = 0; n != inputs.size(); ++n) memory.push_back(std::make_unique<typename network::workspace>());
    std::vector<const void*> xs;
    for (const std::vector<float>& input : inputs) xs.push_back(input.data());
    void* const ys[] = {output.data()};
    const auto context_of = [&](std::size_t n) {
        return zp::context{
            network::stage::table.nodes, model.parameters(), model.ranges(), memory[n]->bytes, &xs[n], ys};
    };
    for (std::size_t i = 0; i != network::rows().size(); ++i) {
        const zp::node& row = network::rows()[i];
        if (zp_test::is(row, zp::op::batch_norm)) {
            const auto running_mean = zp_test::array_of(model, row, 2), running_var = zp_test::array_of(model, row, 3);
            const int pixels = row.out.extents.pixels();
            double all_means = 0, all_variances = 0;
            for (int c = 0; c != row.weights.channels; ++c) {
                double sum = 0, squares = 0;
                for (std::size_t n = 0; n != inputs.size(); ++n) {
                    const float* x = context_of(n).template in<float>(row) + c;
                    for (int pixel = 0; pixel != pixels; ++pixel, x += row.weights.channels) {
                        sum += double{*x};
                        squares += double{*x} * double{*x};
                    }
                }
                const double count = static_cast<double>(inputs.size()) * pixels;
                const double mean = sum / count, variance = std::max(0.0, squares / count - mean * mean) + 0.01;
                running_mean[static_cast<std::size_t>(c)] = static_cast<float>(mean);
                running_var[static_cast<std::size_t>(c)] = static_cast<float>(variance);
                all_means += mean;
                all_variances += variance;
            }
            averages.push_back(static_cast<float>(all_means / row.weights.channels));
            averages.push_back(static_cast<float>(all_variances / row.weights.channels));
        }
        for (std::size_t n = 0; n != inputs.size(); ++n) network::stage::steps[i](row, context_of(n));
    }
    return averages;
}

/// A network that PyTorch made too: parameters by name, statistics over images, the same ones there.
template <class Net> struct seeded_network {
    inventory found;
    std::vector<float> statistics;
    zp::float_model<Net> model;

    explicit seeded_network(const std::string& name, int statistics_images = 4) : model(loaded(found)) {
        statistics = estimate_statistics<Net>(model, images<Net>(name + " statistics", statistics_images));
    }

private:
    /// By way of a file, as a user would: the names, shapes and order of PyTorch's tensors.
    static zp::float_model<Net> loaded(inventory& found) {
        const std::vector<std::byte> zeros = zp::to_bytes(zp::float_model<Net>());
        return zp::load<Net>(made_up_state_dict(zp::safetensors_file::parse(zeros, "zeros"), found));
    }
};

}  // namespace networks
