// SPDX-License-Identifier: BSD-3-Clause
// fuse: the float network with batch norms folded into weights and activations into the layers they follow.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

#include <zeropoint/scheme/uncontracted.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace zp::inline v0 {

namespace detail {

/// The floats of a node that has filters, and how many of what there are.
struct filter_block {
    float *weights, *bias;
    std::size_t channels, depth;

    filter_block(float* weights_, float* bias_, std::size_t channels_, std::size_t depth_)
        : weights(weights_), bias(bias_), channels(channels_), depth(depth_) {}
    filter_block(const node_view& v, std::byte* block)
        : weights(reinterpret_cast<float*>(block)),
          bias(weights + parameters_of(v).offset_of(1)),
          channels(static_cast<std::size_t>(v.n.weights.channels)),
          depth(static_cast<std::size_t>(v.n.weights.count) / channels) {}
};

/// Folds y = (conv(x) + b - mean) / sqrt(var + epsilon) * gamma + beta into weights and bias, per output channel, as PyTorch's
/// fuse_conv_bn_weights does, each operation rounded to float: w' = w * (gamma * r) and b' = (b - mean) * r * gamma + beta
/// with r = 1 / sqrt(var + epsilon). A weight that is the largest of its channel lies on a tie of codes where it is negative,
/// so that the last bit decides. `arrays` are gamma, beta, mean and var.
template <class = void> void fold_batch_norm(const filter_block& filters, const float* arrays, float epsilon) {
    const std::size_t channels = filters.channels;
    const float *gamma = arrays, *beta = arrays + channels, *mean = beta + channels, *variance = mean + channels;
    for (std::size_t c = 0; c != channels; ++c) {
        const float inverse = 1.0f / std::sqrt(variance[c] + epsilon);
        const float factor = rounded_product(gamma[c], inverse);
        float* weights = filters.weights + c * filters.depth;
        for (std::size_t k = 0; k != filters.depth; ++k) weights[k] = rounded_product(weights[k], factor);
        const float scaled = rounded_product(rounded_product(filters.bias[c] - mean[c], inverse), gamma[c]);
        filters.bias[c] = scaled + beta[c];
    }
}

/// Folds y = conv((x - mean) / deviation) + b into weights and bias, in double: w' = w / deviation[k] and b' = b - sum of
/// w * mean[k] / deviation[k], k the channel of the input.
template <class = void>
void fold_channel_map(const kernel::conv2d_geometry& g, const channel_map_of& map, float* weights, float* bias) {
    const auto group_in = static_cast<std::size_t>(g.group_in());
    for (int c = 0; c != g.out.channels; ++c) {
        const std::size_t first = static_cast<std::size_t>(c / g.group_out()) * group_in;
        double sum = 0;
        for (int tap = 0; tap != g.taps(); ++tap)
            for (std::size_t k = first; k != first + group_in; ++k) {
                const double weight = double{*weights} / double{map.deviation[k]};
                sum += weight * double{map.mean[k]};
                *weights++ = static_cast<float>(weight);
            }
        bias[c] = static_cast<float>(double{bias[c]} - sum);
    }
}

}  // namespace detail

/// The run-time half for all models: parameters of `from` become those of `to`. Without `folds_norms` weights and biases are those in front
/// of batch norms.
template <class = void>
void fuse_parameters(std::span<const node> from, const std::byte* source, std::span<const node> to, std::byte* target,
                     bool folds_norms = true) {
    for (const node& n : to) {
        if (n.at.parameter_bytes == 0) continue;
        const auto at = [&](short i) -> const node& { return from[static_cast<std::size_t>(i)]; };
        std::byte* block = target + n.at.parameter_offset;
        std::memcpy(block, source + at(n.from.self).at.parameter_offset,
                    static_cast<std::size_t>(n.at.parameter_bytes));
        if (n.from.normalized < 0 && n.from.folded < 0) continue;
        const node_view v{to.data(), n};
        const detail::filter_block filters(v, block);
        if (n.from.normalized >= 0)
            detail::fold_channel_map(n.op->geometry(v), *at(n.from.normalized).op->map, filters.weights, filters.bias);
        if (n.from.folded < 0 || !folds_norms) continue;
        const node& norm = at(n.from.folded);
        detail::fold_batch_norm(filters, reinterpret_cast<const float*>(source + norm.at.parameter_offset),
                                norm.parameter);
    }
}

/// conv2d/linear + batch_norm + relu/relu6 and add + relu become one layer each, wherever they meet and whatever their names.
template <class Net, class Arch> fused<Net, Arch> fuse(const float_model<Net, Arch>& trained) {
    fused<Net, Arch> result;
    fuse_parameters(trained.rows(), trained.parameters(), result.rows(), result.parameters());
    return result;
}

}  // namespace zp::inline v0
