// SPDX-License-Identifier: BSD-3-Clause
// What a relu always lets through needs no codes: it goes into the bias of the layer behind.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/methods/each_input.hpp>
#include <zeropoint/methods/scale_channels.hpp>
#include <zeropoint/methods/windows.hpp>
#include <zeropoint/workflow/fuse.hpp>

// Nagel et al. 2019, section 4.1.3: where a channel z = W1 x + b1 in front of a relu is at least c, relu(z) = relu(z - c) + c. So b1 - c and
// b2 + W2 c give the same, with a range that is c smaller. With padding it does not hold, as padded zeros have no c.

namespace zp::inline v0 {

/// Mean and standard deviation of the channels that a row of a fused network has in front of its bounds; empty where not known.
struct normal_channels {
    std::vector<float> mean, deviation;

    void divide_by(std::span<const float> factors) {
        for (std::size_t c = 0; c != mean.size(); ++c) {
            mean[c] /= factors[c];
            deviation[c] /= factors[c];
        }
    }
};

/// Those that batch norms say: what is folded into a row has mean beta and deviation |gamma|. By row of the fused network.
template <class Net, class Arch> std::vector<normal_channels> norm_statistics(const float_model<Net, Arch>& trained) {
    std::vector<normal_channels> all;
    for (const node& n : fused<Net, Arch>::rows()) {
        normal_channels one;
        if (n.from.folded >= 0) {
            const node& norm = trained.rows()[static_cast<std::size_t>(n.from.folded)];
            const auto* gamma = reinterpret_cast<const float*>(trained.parameters() + norm.at.parameter_offset);
            const auto channels = static_cast<std::size_t>(n.weights.channels);
            one.mean.assign(gamma + channels, gamma + 2 * channels);
            for (std::size_t c = 0; c != channels; ++c) one.deviation.push_back(std::abs(gamma[c]));
        }
        all.push_back(one);
    }
    return all;
}

namespace detail {

/// Whether constants of channels may go from the producer of a site into the one layer behind it.
inline bool may_absorb(std::span<const node> loose, const channel_site& site) {
    if (site.consumers.size() != 1 || !has_filters(loose[static_cast<std::size_t>(site.producer)])) return false;
    for (const int row : site.through)
        if (!loose[static_cast<std::size_t>(row)].op->is_view) return false;
    const node_view consumer{loose.data(), loose[static_cast<std::size_t>(site.consumers.front())]};
    const node& producer = loose[static_cast<std::size_t>(site.producer)];
    const bool is_relu = producer.fused.lowest == 0 && !is_finite(producer.fused.highest);
    const bool is_linear = !is_finite(producer.fused.lowest) && !is_finite(producer.fused.highest);
    return (is_relu || is_linear) && !window_reader(consumer).has_padding();
}
/// Moves `constants` of channels; gives how many are not 0.
inline int absorb(const float_parameters& p, const channel_site& site, std::span<const double> constants) {
    const int consumer = site.consumers.front();
    float *first = p.array(site.producer, 1), *second = p.array(consumer, 1);
    int count = 0;
    for (std::size_t c = 0; c != constants.size(); ++c) {
        first[c] = static_cast<float>(double{first[c]} - constants[c]);
        count += constants[c] != 0;
    }
    std::vector<double> sums(static_cast<std::size_t>(p.nodes[static_cast<std::size_t>(consumer)].weights.channels));
    p.columns(consumer, static_cast<int>(constants.size())).for_each([&](float weight, int channel, int output) {
        sums[static_cast<std::size_t>(output)] += double{weight} * constants[static_cast<std::size_t>(channel)];
    });
    for (std::size_t o = 0; o != sums.size(); ++o) second[o] = static_cast<float>(double{second[o]} + sums[o]);
    return count;
}
/// For all sites whose constants `choose(site, is_relu)` gives; empty where there are none.
template <class Choose>
std::vector<std::string> absorb_all(std::span<const node> loose, const float_parameters& p, Choose choose) {
    std::vector<std::string> report;
    for (const channel_site& site : find_channel_sites(loose).sites) {
        if (!may_absorb(loose, site)) continue;
        const std::vector<double> constants =
            choose(site, loose[static_cast<std::size_t>(site.producer)].fused.lowest == 0);
        const int count = constants.empty() ? 0 : absorb(p, site, constants);
        if (count != 0)
            report.push_back(display_name(loose, site.producer) + " into " +
                             display_name(loose, site.consumers.front()) + ": " + std::to_string(count) + " of " +
                             std::to_string(constants.size()) + " channels");
    }
    return report;
}
/// c = max(0, mean - 3 deviations) in front of a relu, the mean where there is none; statistics are then those of what is left.
inline std::vector<std::string> absorb_by_statistics(std::span<const node> loose, const float_parameters& p,
                                                     std::span<normal_channels> statistics) {
    return absorb_all(loose, p, [&](const channel_site& site, bool is_relu) {
        normal_channels& of = statistics[static_cast<std::size_t>(site.producer)];
        std::vector<double> constants(of.mean.begin(), of.mean.end());
        for (std::size_t c = 0; c != constants.size(); ++c)
            if (is_relu) constants[c] = std::max(0.0, constants[c] - 3 * double{of.deviation[c]});
        for (std::size_t c = 0; c != constants.size(); ++c)
            of.mean[c] = static_cast<float>(double{of.mean[c]} - constants[c]);
        return constants;
    });
}

}  // namespace detail

/// Moves constants of channels into the layer behind, by what data show: in front of a relu the smallest value that a channel had where that is
/// above 0, else (no bounds) its mean. Over these data the network computes what it did, up to the rounding of floats. `images` are what
/// zp::calibrate takes; `report` gets a line a pair.
template <class Net, class Arch, class Batches>
fused<Net, Arch> absorb_biases(fused<Net, Arch> network, const Batches& images,
                               std::vector<std::string>* report = nullptr) {
    using stage = fused_stage<Net, Arch>;
    const std::span<const node> loose(stage::loose.nodes, static_cast<std::size_t>(stage::loose.size));
    struct seen_channels {
        std::vector<double> smallest, sums;
        double count = 0;
    };
    std::vector<seen_channels> seen(loose.size());
    for (const channel_site& site : find_channel_sites(loose).sites) {
        const auto channels =
            static_cast<std::size_t>(network.rows()[static_cast<std::size_t>(site.producer)].weights.channels);
        seen[static_cast<std::size_t>(site.producer)] = {std::vector<double>(channels, infinity),
                                                         std::vector<double>(channels), 0};
    }
    for_each_input(network, images, [&](int row, const float* values) {
        seen_channels& channels = seen[static_cast<std::size_t>(row)];
        const std::size_t count = channels.sums.size();
        if (count == 0) return;
        const auto size = static_cast<std::size_t>(network.rows()[static_cast<std::size_t>(row)].out.extents.size());
        for (std::size_t i = 0; i != size; ++i) {
            double& least = channels.smallest[i % count];
            least = std::min(least, double{values[i]});
            channels.sums[i % count] += double{values[i]};
        }
        channels.count += static_cast<double>(size / count);
    });
    auto lines =
        detail::absorb_all(loose, {network.rows(), network.parameters()}, [&](const channel_site& site, bool is_relu) {
            const seen_channels& channels = seen[static_cast<std::size_t>(site.producer)];
            std::vector<double> constants = is_relu ? channels.smallest : channels.sums;
            for (double& c : constants) c = is_relu ? std::max(0.0, c) : c / channels.count;
            return constants;
        });
    if (report != nullptr) *report = std::move(lines);
    return network;
}

}  // namespace zp::inline v0
