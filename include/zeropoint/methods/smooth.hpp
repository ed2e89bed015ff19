// SPDX-License-Identifier: BSD-3-Clause
// SmoothQuant: outliers of activations go into weights, which have a scale a channel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/methods/each_input.hpp>
#include <zeropoint/methods/scale_channels.hpp>
#include <zeropoint/workflow/fuse.hpp>

// Xiao et al., "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language Models", 2023: channel j of the values
// between a norm (or a layer with filters) and the layers that read it is divided by s_j = max |x_j|^alpha / max |w_j|^(1 - alpha), both
// at least 1e-5; max |w_j| is over all layers that read it (queries, keys and values have one factor). A channel that `images` hardly reached
// is enlarged by that without bounds, and other inputs are clipped in it: smooth_options::floor.

namespace zp::inline v0 {

/// How zp::smooth works.
struct smooth_options {
    float alpha = 0.5f;         ///< 0 keeps activations even at most for weights, 1 evens activations out
    bool convolutions = false;  ///< also in front of layers with windows; take a floor of 1 there
    /// A channel whose max |x_j| is below that part of the middle one's, of those that are not 0, counts as so large: channels that `images`
    /// hardly reached are then not enlarged. 0 and more; 0 is the paper's.
    float floor = 0;
};
/// What smooth did.
struct smoothing {
    /// An activation that was divided channel by channel.
    struct site {
        std::string producer;                     // the layer that makes it
        std::vector<std::string> consumers;       // those that read it
        float smallest = 1, largest = 1;          // factors
        float range_before = 0, range_after = 0;  // max |x|
    };
    std::vector<site> sites;           // in the order of the network
    std::vector<std::string> skipped;  // activations that were left as they are, and why
};

namespace detail {

/// s_j of one site: `largest_x` is max |x| of each channel.
inline std::vector<float> smoothing_factors(const float_parameters& p, const channel_site& site,
                                            std::span<const float> largest_x, double alpha, double floor) {
    std::vector<double> largest_w(largest_x.size());
    for (const int consumer : site.consumers)
        p.columns(consumer, static_cast<int>(largest_x.size())).for_each([&](float weight, int channel, int) {
            double& largest = largest_w[static_cast<std::size_t>(channel)];
            largest = std::max(largest, std::abs(double{weight}));
        });
    std::vector<float> reached(largest_x.begin(), largest_x.end());
    std::erase(reached, 0.0f);
    const auto middle = reached.begin() + static_cast<std::ptrdiff_t>(reached.size() / 2);
    std::nth_element(reached.begin(), middle, reached.end());
    const double least = std::max(reached.empty() ? 0 : floor * double{*middle}, 1e-5);
    std::vector<float> factors;
    for (std::size_t j = 0; j != largest_x.size(); ++j) {
        const double x = std::max(double{largest_x[j]}, least), w = std::max(largest_w[j], 1e-5);
        factors.push_back(usable_factor(std::max(std::pow(x, alpha) / std::pow(w, 1 - alpha), 1e-5)));
    }
    return factors;
}

}  // namespace detail

/// The same network with activations smoothed in front of linear layers, wherever the factors can go into the norm or the layer in front.
/// `images` are what zp::calibrate takes.
template <class Net, class Arch, class Batches>
fused<Net, Arch> smooth(fused<Net, Arch> network, const Batches& images, const smooth_options& how = {},
                        smoothing* report = nullptr) {
    using stage = fused_stage<Net, Arch>;
    if (!(how.alpha >= 0 && how.alpha <= 1))
        raise<value_error>("smooth: expected an alpha from 0 to 1, got " + number_text(how.alpha));
    if (!(how.floor >= 0 && is_finite(how.floor)))
        raise<value_error>("smooth: expected a floor of 0 or more, a part of the middle channel's largest value, got " +
                           number_text(how.floor));
    const std::span<const node> loose(stage::loose.nodes, static_cast<std::size_t>(stage::loose.size));
    const float_parameters p{network.rows(), network.parameters()};
    smoothing done;
    channel_sites found = find_channel_sites(loose);
    for (const refused_site& refused : found.refused)
        done.skipped.push_back(display_name(loose, refused.producer) + ": " + refused.why);
    std::erase_if(found.sites, [&](const channel_site& site) {
        for (const int consumer : site.consumers)
            if (!how.convolutions && !loose[static_cast<std::size_t>(consumer)].op->is_connected) return true;
        return false;
    });
    std::vector<std::vector<float>> largest(loose.size());  // of the channels in front of consumers
    for (const channel_site& site : found.sites)
        for (const int consumer : site.consumers)
            largest[static_cast<std::size_t>(loose[static_cast<std::size_t>(consumer)].inputs[0])].resize(
                static_cast<std::size_t>(p.channels(site.producer)));
    for_each_input(network, images, [&](int row, const float* values) {
        std::vector<float>& channels = largest[static_cast<std::size_t>(row)];
        if (channels.empty()) return;
        const auto size = static_cast<std::size_t>(loose[static_cast<std::size_t>(row)].out.extents.size());
        for (std::size_t i = 0; i != size; ++i) {
            float& most = channels[i % channels.size()];
            most = std::max(most, std::abs(values[i]));
        }
    });
    for (const channel_site& site : found.sites) {
        smoothing::site one{display_name(loose, site.producer), {}};
        std::vector<float> seen(static_cast<std::size_t>(p.channels(site.producer)));
        for (const int consumer : site.consumers) {
            const auto& own = largest[static_cast<std::size_t>(loose[static_cast<std::size_t>(consumer)].inputs[0])];
            for (std::size_t c = 0; c != seen.size(); ++c) seen[c] = std::max(seen[c], own[c]);
            one.consumers.push_back(display_name(loose, consumer));
        }
        const std::vector<float> factors =
            detail::smoothing_factors(p, site, seen, double{how.alpha}, double{how.floor});
        scale_channels(p, site, factors);
        for (std::size_t c = 0; c != seen.size(); ++c) {
            one.range_before = std::max(one.range_before, seen[c]);
            one.range_after = std::max(one.range_after, seen[c] / factors[c]);
        }
        const auto [low, high] = std::minmax_element(factors.begin(), factors.end());
        one.smallest = *low;
        one.largest = *high;
        // A site behind it sees the same values: its producer's outputs do not change.
        done.sites.push_back(std::move(one));
    }
    if (report != nullptr) *report = std::move(done);
    return network;
}

}  // namespace zp::inline v0
