// SPDX-License-Identifier: BSD-3-Clause
// Where channels of a fused float network can be scaled without changing what it computes: behind a layer that can take factors, up to
// the layers that read them.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/operators/filters.hpp>

// y = W2 f(W1 x + b1) is W2 S f(S^-1 W1 x + S^-1 b1) for each diagonal S > 0, where f is positively homogeneous channel by channel: a
// relu, leaky_relu or prelu, a pool, a view. Found by what operators say of themselves, whatever their names: operator_info::filters and
// gain_arrays can take factors, homogeneous and bounds at zero let them through.

namespace zp::inline v0 {

/// The channels of one layer's output, with all rows up to those that multiply them.
struct channel_site {
    int producer = -1;
    std::vector<int> through;    // rows between
    std::vector<int> consumers;  // rows with filters that read them, in order of execution
};
/// Channels that cannot be scaled, and why.
struct refused_site {
    int producer = -1;
    std::string why;
};
struct channel_sites {
    std::vector<channel_site> sites;
    std::vector<refused_site> refused;  // but those whose values are an output
};

namespace detail {

inline bool has_filters(const node& n) { return n.op->multiplies && n.op->filters != filter_kernels::none; }
/// Whether the channels of its output are proportional to parameters.
inline bool takes_factors(const node& n) { return has_filters(n) || n.op->gain_arrays != 0; }

/// Whether f(s x) = s f(x) for s > 0: for functions of one value, which are tried at points of both signs.
inline bool is_homogeneous_function(const node& n) {
    if (n.op->function == nullptr || n.rules == nullptr || n.rules->value == nullptr) return false;
    const auto f = [&](double x) { return n.rules->value(x, n.parameter); };
    if (f(0) != 0) return false;
    for (const double sign : {-1.0, 1.0})
        for (const double x : {1e-3, 0.3, 0.9, 1.1, 2.7, 9.0, 1e3, 1e6})
            if (std::abs(f(sign * x) - x * f(sign)) > 1e-6 * x * std::abs(f(sign))) return false;
    return true;
}
/// Whether the bounds that are fused into a node, or that it is, are at zero or nowhere.
inline bool has_homogeneous_bounds(const node& n) {
    const auto is_free = [](float bound) { return bound == 0 || !is_finite(bound); };
    return is_free(n.fused.lowest) && is_free(n.fused.highest);
}
/// Whether a row lets factors of channels through.
inline bool lets_factors_through(const node& n) {
    if (n.input_count != 1 || !has_homogeneous_bounds(n)) return false;
    const bool is_bounds = (n.op->gives & bounds) != 0 && n.op->elementwise;
    return n.op->homogeneous || is_bounds || is_homogeneous_function(n);
}

inline constexpr const char* is_an_output = "its values are an output";

/// Follows the channels of row i to all that read them; a reason where one of these is no layer with filters.
inline std::string follow_channels(std::span<const node> nodes, int i, bool has_marked_outputs, channel_site& site) {
    const int size = static_cast<int>(nodes.size());
    if (!has_marked_outputs && i == size - 1) return is_an_output;
    for (int r = i + 1; r != size; ++r) {
        const node& reader = nodes[static_cast<std::size_t>(r)];
        for (int k = 0; k != reader.input_count; ++k) {
            if (reader.inputs[k] != i) continue;
            if (reader.op->is_output) return is_an_output;
            if (has_filters(reader) && k == 0) {
                site.consumers.push_back(r);
            } else if (lets_factors_through(reader)) {
                site.through.push_back(r);
                const std::string why = follow_channels(nodes, r, has_marked_outputs, site);
                if (!why.empty()) return why;
            } else if (reader.fused.clamp != nullptr && !has_homogeneous_bounds(reader)) {
                return "the bounds of " + display_name(reader, r) + " are not those of a relu";
            } else {
                return display_name(reader, r) + " (" + reader.op->name + ") reads it";
            }
        }
    }
    return {};
}

}  // namespace detail

/// All sites of a fused network, `nodes` being those of its stage's `loose`, which have rules. In order of execution.
inline channel_sites find_channel_sites(std::span<const node> nodes) {
    channel_sites found;
    bool has_marked_outputs = false;
    for (const node& n : nodes) has_marked_outputs = has_marked_outputs || n.op->is_output;
    for (int i = 0; i != static_cast<int>(nodes.size()); ++i) {
        const node& n = nodes[static_cast<std::size_t>(i)];
        if (!detail::takes_factors(n)) continue;
        channel_site site{i, {}, {}};
        std::string why = detail::follow_channels(nodes, i, has_marked_outputs, site);
        if (why.empty() && !detail::has_homogeneous_bounds(n))
            why = std::string("the bounds of its ") + (n.fused.clamp == nullptr ? "own" : n.fused.clamp->name) +
                  " would have to differ by channel";
        if (why == detail::is_an_output) continue;
        if (!why.empty()) found.refused.push_back({i, why});
        else if (!site.consumers.empty()) found.sites.push_back(site);
    }
    return found;
}

/// The weights of a layer with filters, by the channel of a producer that each is multiplied with, in the block of a float network.
class filter_columns {
public:
    /// `channels` are the producer's: a layer over a flattened image has columns for each of its pixels.
    filter_columns(const node_view& v, std::byte* block, int channels)
        : weights_(reinterpret_cast<float*>(block)),
          outputs_(v.n.weights.channels),
          depth_(v.n.weights.count / outputs_),
          groups_(operators::groups_of_filters(v)),
          group_in_(v.n.op->is_connected ? depth_ : v.x_shape().channels / groups_),
          channels_(channels) {}

    /// visit(weight, channel of the producer, output) of each weight.
    template <class Visit> void for_each(Visit visit) const {
        float* at = weights_;
        for (int c = 0; c != outputs_; ++c) {
            const int first = c / (outputs_ / groups_) * group_in_;
            for (int k = 0; k != depth_; ++k) visit(*at++, (first + k % group_in_) % channels_, c);
        }
    }

private:
    float* weights_;
    int outputs_, depth_, groups_, group_in_, channels_;
};

}  // namespace zp::inline v0
