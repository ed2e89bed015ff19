// SPDX-License-Identifier: BSD-3-Clause
// What calibration keeps for the correction of biases: the mean input of every weight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/operators/quantize_filters.hpp>

// Quantized weights w' differ from w, and so do mean outputs: E[y'] - E[y] = sum (w' - w) * E[x], over the products of one
// output. convert takes this off the bias (Nagel, van Baalen, Blankevoort, Welling, "Data-Free Quantization Through Weight
// Equalization and Bias Correction", 2019, section 4.2). There E[x] is derived from batch norms; here it is the mean over
// the calibration data, tap by tap, so that the sum above is the exact mean difference over these data, with padding.

namespace zp::inline v0 {

/// The sums of the inputs that each weight of the filters of a prepared stage was multiplied with. A stage whose qconfig
/// corrects no biases has none.
template <class Stage, bool Wanted = Stage::entries::corrects_biases> class input_sums {
    static constexpr int size = Stage::table.size;

    /// Filters that will be codes.
    static constexpr std::array<const tap_sums_rule*, static_cast<std::size_t>(size)> rules = [] {
        std::array<const tap_sums_rule*, static_cast<std::size_t>(size)> all{};
        for (int i = 0; i != size; ++i) {
            const node& n = Stage::loose.nodes[i];
            if (n.rules != nullptr && !n.flags.keep_float) all[static_cast<std::size_t>(i)] = n.rules->tap_sums;
        }
        return all;
    }();
    /// Where the sums of each node begin, and behind the last where they end.
    using offset_array = std::array<std::size_t, static_cast<std::size_t>(size) + 1>;
    static constexpr offset_array offsets = [] {
        offset_array begins{};
        std::size_t end = 0;
        for (std::size_t i = 0; i != rules.size(); ++i) {
            begins[i] = end;
            if (rules[i] == nullptr) continue;
            const node_view v = Stage::loose.view(static_cast<int>(i));
            end += static_cast<std::size_t>(v.n.weights.count / v.n.weights.channels * rules[i]->groups(v));
        }
        begins.back() = end;
        return begins;
    }();

public:
    /// Adds the values of node `producer` to the sums of all nodes that read them.
    void observe(int producer, const float* values) {
        for (std::size_t i = 0; i != rules.size(); ++i) {
            const node_view v = Stage::table.view(static_cast<int>(i));
            if (rules[i] != nullptr && v.n.inputs[0] == producer) rules[i]->add(v, values, sums_.data() + offsets[i]);
        }
    }
    void merge(const input_sums& other) {
        for (std::size_t i = 0; i != sums_.size(); ++i) sums_[i] += other.sums_[i];
    }
    /// The means of a node with filters after so many inputs of the network.
    mean_inputs means_of(int i, std::uint64_t samples) const {
        const auto at = static_cast<std::size_t>(i);
        if (rules[at] == nullptr) return {};
        const node_view v = Stage::table.view(i);
        const int channels = v.n.weights.channels, groups = rules[at]->groups(v),
                  group_in = v.n.weights.count / (channels * rules[at]->taps(v));
        const auto begin = sums_.begin() + static_cast<std::ptrdiff_t>(offsets[at]),
                   end = sums_.begin() + static_cast<std::ptrdiff_t>(offsets[at + 1]);
        mean_inputs result{{begin, end}, group_in * groups, group_in, channels / groups};
        const double count = static_cast<double>(samples) * v.y_shape().pixels();
        for (double& mean : result.values) mean /= count;
        return result;
    }
    template <class Visitor> void each_state(Visitor&& visit) { visit(sums_); }

private:
    std::vector<double> sums_ = std::vector<double>(offsets.back());
};
template <class Stage> class input_sums<Stage, false> {
public:
    void observe(int, const float*) {}
    void merge(const input_sums&) {}
    template <class Visitor> void each_state(Visitor&&) {}
};

}  // namespace zp::inline v0
