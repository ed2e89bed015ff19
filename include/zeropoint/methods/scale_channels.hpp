// SPDX-License-Identifier: BSD-3-Clause
// Factors on the channels of a site: out of the layer that makes them, into the layers that read them.
#pragma once

#include <cstddef>
#include <span>

#include <zeropoint/methods/channel_sites.hpp>

namespace zp::inline v0 {

/// The block of floats of a network, with the nodes that say what is where. Nodes must have places: those of a stage's `table`.
struct float_parameters {
    std::span<const node> nodes;
    std::byte* block;

    node_view view(int row) const { return {nodes.data(), nodes[static_cast<std::size_t>(row)]}; }
    float* array(int row, int number) const {
        const node_view v = view(row);
        return reinterpret_cast<float*>(block + v.n.at.parameter_offset) + parameters_of(v).offset_of(number);
    }
    int channels(int row) const { return view(row).y_shape().channels; }
    filter_columns columns(int row, int channels) const {
        const node_view v = view(row);
        return {v, block + v.n.at.parameter_offset, channels};
    }
};

/// Divides the channels that a site's producer makes by `factors`, and multiplies what reads them: the network computes what it did, up to
/// the rounding of floats; exactly that where factors are powers of two.
inline void scale_channels(const float_parameters& p, const channel_site& site, std::span<const float> factors) {
    const node& producer = p.nodes[static_cast<std::size_t>(site.producer)];
    if (detail::has_filters(producer)) {
        const auto depth = static_cast<std::size_t>(producer.weights.count / producer.weights.channels);
        float *weights = p.array(site.producer, 0), *bias = p.array(site.producer, 1);
        for (std::size_t c = 0; c != factors.size(); ++c) {
            for (std::size_t k = 0; k != depth; ++k) *weights++ /= factors[c];
            bias[c] /= factors[c];
        }
    } else {
        for (int a = 0; a != producer.op->gain_arrays; ++a)
            for (std::size_t c = 0; c != factors.size(); ++c) p.array(site.producer, a)[c] /= factors[c];
    }
    for (const int consumer : site.consumers)
        p.columns(consumer, static_cast<int>(factors.size())).for_each([&](float& weight, int channel, int) {
            weight *= factors[static_cast<std::size_t>(channel)];
        });
}

/// A factor that floats can be divided by and multiplied with: another becomes 1, which changes nothing.
inline float usable_factor(double factor) {
    const bool is_usable = factor > 1e-12 && factor < 1e12;  // false for NaN
    return is_usable ? static_cast<float>(factor) : 1.0f;
}

}  // namespace zp::inline v0
