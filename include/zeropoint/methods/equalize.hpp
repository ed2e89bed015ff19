// SPDX-License-Identifier: BSD-3-Clause
// Cross-layer equalization: weights of neighbouring layers share their ranges, channel by channel, and the function stays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/methods/absorb_biases.hpp>
#include <zeropoint/methods/scale_channels.hpp>
#include <zeropoint/workflow/fuse.hpp>

// Nagel, van Baalen, Blankevoort, Welling, "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, sections 4.1
// and 4.1.3. With r1 the range of a channel's weights in the layer that makes it and r2 of those that read it, s = sqrt(r1 / r2), W1 / s
// and W2 * s have the same range. A pair whose channels have range 0 on one side keeps them.

namespace zp::inline v0 {

/// What is called the range of a channel's weights.
enum class channel_range : std::uint8_t {
    largest,  ///< max |w|: what symmetric codes need
    spread    ///< max w - min w, and 1e-9 more in the second layer: torch.ao.quantization._equalize's
};
/// How zp::equalize works.
struct equalize_options {
    channel_range range = channel_range::largest;  // what is made equal
    int iterations = 100;                          ///< at most so many passes over all pairs
    float tolerance = 1e-4f;                       ///< until no factor of a pass is further from 1
    bool absorb = true;  ///< of a float_model: large biases of batch norms go into the layer behind, see absorb_biases
};
/// What equalize did.
struct equalization {
    /// Two layers, one behind the other.
    struct pair {
        std::string producer, consumer;   // names of both layers
        float smallest = 1, largest = 1;  // of all its factors together
    };
    std::vector<pair> pairs;                  // those that were equalized
    std::vector<std::string> skipped;         // "conv3: add_5 (add) reads it"
    std::vector<std::string> absorbed;        // "conv1 into conv2: 3 of 16 channels"
    std::vector<normal_channels> statistics;  // of a float_model's norms, as they are now: for correct_biases_by_norms
    int passes = 0;                           // how many were made
    bool converged = true;                    // whether the tolerance was reached
};

namespace detail {

/// Smallest and largest weight of each channel.
struct channel_bounds {
    std::vector<float> low, high;
    explicit channel_bounds(std::size_t channels) : low(channels, infinity), high(channels, -infinity) {}
    void see(std::size_t c, float weight) {
        low[c] = std::min(low[c], weight);
        high[c] = std::max(high[c], weight);
    }
    double range(std::size_t c, channel_range how) const {
        if (how == channel_range::spread) return double{high[c]} - double{low[c]};
        return std::max(std::abs(double{low[c]}), std::abs(double{high[c]}));
    }
};

/// The factors of one pair.
inline std::vector<float> equalizing_factors(const float_parameters& p, const channel_site& site, channel_range how) {
    const auto channels = static_cast<std::size_t>(p.channels(site.producer));
    channel_bounds made(channels), read(channels);
    const node& producer = p.nodes[static_cast<std::size_t>(site.producer)];
    const float* weights = p.array(site.producer, 0);
    const std::size_t depth = has_filters(producer) ? static_cast<std::size_t>(producer.weights.count) / channels : 1;
    for (std::size_t i = 0; i != channels * depth; ++i) made.see(i / depth, weights[i]);
    p.columns(site.consumers.front(), static_cast<int>(channels)).for_each([&](float weight, int channel, int) {
        read.see(static_cast<std::size_t>(channel), weight);
    });
    std::vector<float> factors(channels, 1.0f);
    for (std::size_t c = 0; c != channels; ++c) {
        double r1 = made.range(c, how), r2 = read.range(c, how);
        if (how == channel_range::spread) r2 += 1e-9;
        if (r1 > 0 && r2 > 0) factors[c] = usable_factor(std::sqrt(r1 / r2));
    }
    return factors;
}

/// Equalizes all pairs; statistics, if there are any, are scaled with them.
inline equalization equalize_pairs(std::span<const node> loose, const float_parameters& p, const equalize_options& how,
                                   std::span<normal_channels> statistics) {
    equalization result;
    channel_sites found = find_channel_sites(loose);
    for (const refused_site& refused : found.refused)
        result.skipped.push_back(display_name(loose, refused.producer) + ": " + refused.why);
    std::erase_if(found.sites, [&](const channel_site& site) {
        const bool is_pair = has_filters(loose[static_cast<std::size_t>(site.producer)]) && site.consumers.size() == 1;
        if (!is_pair && site.consumers.size() > 1)
            result.skipped.push_back(display_name(loose, site.producer) + ": " + std::to_string(site.consumers.size()) +
                                     " layers read it");
        return !is_pair;
    });
    std::vector<std::vector<float>> products;
    for (const channel_site& site : found.sites)
        products.emplace_back(static_cast<std::size_t>(p.channels(site.producer)), 1.0f);
    float furthest = 0;
    do {
        furthest = 0;
        for (std::size_t s = 0; s != found.sites.size(); ++s) {
            const channel_site& site = found.sites[s];
            const std::vector<float> factors = equalizing_factors(p, site, how.range);
            scale_channels(p, site, factors);
            if (!statistics.empty()) statistics[static_cast<std::size_t>(site.producer)].divide_by(factors);
            for (std::size_t c = 0; c != factors.size(); ++c) {
                products[s][c] *= factors[c];
                furthest = std::max(furthest, std::abs(factors[c] - 1));
            }
        }
        ++result.passes;
    } while (furthest > how.tolerance && result.passes < how.iterations);
    result.converged = furthest <= how.tolerance;
    for (std::size_t s = 0; s != found.sites.size(); ++s) {
        const auto [low, high] = std::minmax_element(products[s].begin(), products[s].end());
        result.pairs.push_back({display_name(loose, found.sites[s].producer),
                                display_name(loose, found.sites[s].consumers.front()), *low, *high});
    }
    return result;
}

}  // namespace detail

/// The same network with the ranges of weights equalized over all pairs of layers with filters between which there are only relus,
/// leaky_relus, prelus, pools and views, and where one layer reads what the other makes. It needs no data. What could not be
/// equalized is told, by layer: behind a relu6 channels would need bounds of their own, which no network here has.
template <class Net, class Arch>
fused<Net, Arch> equalize(fused<Net, Arch> network, const equalize_options& how = {}, equalization* report = nullptr) {
    using stage = fused_stage<Net, Arch>;
    const std::span<const node> loose(stage::loose.nodes, static_cast<std::size_t>(stage::loose.size));
    equalization done = detail::equalize_pairs(loose, {network.rows(), network.parameters()}, how, {});
    if (report != nullptr) *report = std::move(done);
    return network;
}
/// Of a network with its batch norms: fuses it, equalizes it, and as their statistics are known moves what a relu always lets through into
/// the layer behind it.
template <class Net, class Arch>
fused<Net, Arch> equalize(const float_model<Net, Arch>& trained, const equalize_options& how = {},
                          equalization* report = nullptr) {
    using stage = fused_stage<Net, Arch>;
    fused<Net, Arch> network = fuse(trained);
    const std::span<const node> loose(stage::loose.nodes, static_cast<std::size_t>(stage::loose.size));
    const float_parameters p{network.rows(), network.parameters()};
    std::vector<normal_channels> statistics = norm_statistics(trained);
    equalization done = detail::equalize_pairs(loose, p, how, statistics);
    if (how.absorb) done.absorbed = detail::absorb_by_statistics(loose, p, statistics);
    done.statistics = std::move(statistics);
    if (report != nullptr) *report = std::move(done);
    return network;
}

}  // namespace zp::inline v0
