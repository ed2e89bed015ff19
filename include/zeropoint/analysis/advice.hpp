// SPDX-License-Identifier: BSD-3-Clause
// What the figures of a comparison suggest, in sentences: which row, what is the matter with it, what to try.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <zeropoint/analysis/comparison.hpp>

namespace zp::inline v0 {

/// A row of the quantized network, -1 for the whole of it, and two sentences.
struct advice {
    int row = -1;                       // its number; -1: the whole network
    std::string name, finding, remedy;  // its name; what was found; what to try
};

namespace detail {

/// What 8 bits over values without outliers have at least; below it a row is looked at.
inline constexpr double enough_decibels = 30, bad_decibels = 20;

/// The largest value's size over that which one value in a thousand exceeds.
inline double outlier_ratio(const row_comparison& row) {
    const exact_histogram<2048>& seen = row.values.histogram();
    const std::uint64_t part = row.values.count() / 1000;
    if (part == 0) return 1;
    const float low = seen.quantile(part / 2 + 1), high = seen.quantile(row.values.count() - part / 2 - 1);
    const float most = std::max(std::abs(seen.range().min), std::abs(seen.range().max));
    const float bulk = std::max(std::abs(low), std::abs(high));
    return bulk > 0 ? double{most} / double{bulk} : 1;
}
/// The largest channel's size over the middle one's.
inline double channel_ratio(const row_comparison& row) {
    std::vector<float> sizes;
    for (const channel_errors& one : row.values.channels())
        if (one.largest > 0) sizes.push_back(one.largest);
    if (sizes.size() < 4) return 1;
    std::sort(sizes.begin(), sizes.end());
    return double{sizes.back()} / double{sizes[sizes.size() / 2]};
}
inline bool have_one_scale(const weight_comparison& weights) {
    for (const weight_comparison::channel& one : weights.channels)
        if (one.scale != weights.channels.front().scale) return false;
    return weights.channels.size() > 1;
}
inline std::string decibels(double x) { return fixed_text(1, x) + " dB"; }
inline std::string times(double x) { return figure(3, x) + " times"; }

/// "zp::keep_float<"name">", of a row that a qconfig can name.
inline std::string keep_float_text(const row_comparison& row) {
    return row.layer.empty() ? "zp::keep_float of " + row.name + " (give it a name by zp::named)"
                             : "zp::keep_float<\"" + row.layer + "\">";
}
/// A finer grid for what a row gives. Kept in float alone it would be rounded to the old one for readers of codes.
inline std::string in_more_bits(const row_comparison& row) {
    return "16 bits: zp::int16_qconfig for " + (row.layer.empty() ? row.name : row.layer) +
           " and for a zp::requantize in front of it; or " + keep_float_text(row) + " and of the layers that read it";
}
inline bool has_uneven_channels(const row_comparison& row) { return channel_ratio(row) > 8; }
/// Of what a row reads that with the most uneven channels, or null.
inline const row_comparison* uneven_input(const row_comparison& row, const comparison& all) {
    const row_comparison* found = nullptr;
    for (const row_comparison& other : all.rows)
        if (std::find(row.reads.begin(), row.reads.end(), other.row) != row.reads.end() && has_uneven_channels(other) &&
            (found == nullptr || channel_ratio(other) > channel_ratio(*found)))
            found = &other;
    return found;
}

/// What is the matter with the values of a row. `blamed` gets the rows whose uneven channels were named as the cause of another's errors.
inline void advise_values(const row_comparison& row, const comparison& alone, std::vector<advice>& all,
                          std::vector<int>& blamed) {
    const auto say = [&](const std::string& finding, const std::string& remedy) {
        all.push_back({row.row, row.name, row.name + ": " + finding, remedy});
    };
    const bool is_poor = row.sqnr() < enough_decibels;
    const std::string equalize = "zp::equalize before calibration, which makes the channels of a layer alike; else ";
    if (row.clipped_share > 0.001 && row.rmse_in_steps() > 1)
        say(percent_text(row.clipped_share) + " of its values lie outside of what its codes reach, from " +
                figure(4, double{dequantize(row.quant_min, row.quantization)}) + " to " +
                figure(4, double{dequantize(row.quant_max, row.quantization)}),
            "calibrate with more inputs of the kind that come, or take an observer that cuts less for it: "
            "zp::min_max_observer");
    else if (const row_comparison* input = uneven_input(row, alone); row.sqnr() < bad_decibels && input != nullptr) {
        blamed.push_back(input->row);
        say("alone it has " + decibels(row.sqnr()) + "; it reads " + input->name + ", whose largest channel is " +
                times(channel_ratio(*input)) + " the middle one, with one scale for all",
            equalize + keep_float_text(*input) + " and " + keep_float_text(row));
    } else if (const double ratio = outlier_ratio(row); is_poor && ratio > 3)
        say("its largest value is " + times(ratio) +
                " what all but one in a thousand stay below, so that most of them share few of its " +
                std::to_string(row.codes.used()) + " used codes",
            "an observer that cuts rare values for it: zp::entropy_observer, zp::percentile_observer, "
            "zp::mse_observer");
    else if (const double channels = channel_ratio(row); is_poor && channels > 8)
        say("its largest channel is " + times(channels) + " the middle one, and all have one scale",
            equalize + in_more_bits(row));
    else if (row.sqnr() < bad_decibels && row.quantization.scale != 0)
        say("alone it has " + decibels(row.sqnr()) + ", and nothing about its range explains that", in_more_bits(row));
    const bool are_many = row.lost_channels * 20 > row.out.channels;
    if (are_many && std::find(blamed.begin(), blamed.end(), row.row) == blamed.end())
        say(std::to_string(row.lost_channels) + " of " + std::to_string(row.out.channels) +
                " channels are zero in every input, and not in float: they are below half a step of " +
                figure(4, double{row.quantization.scale}),
            equalize + in_more_bits(row));
}
inline void advise_weights(const row_comparison& row, std::vector<advice>& all) {
    for (const weight_comparison& weights : row.weights) {
        if (weights.sqnr >= enough_decibels) continue;
        const std::string what = row.name + "." + weights.name + ": its weights have " + decibels(weights.sqnr);
        if (have_one_scale(weights) && weights.spread() > 4)
            all.push_back({row.row, row.name,
                           what + " with one scale, and its channels differ by " + times(weights.spread()),
                           "zp::per_channel_symmetric for weights"});
        else if (weights.quant_max - weights.quant_min < 64)
            all.push_back({row.row, row.name,
                           what + " in codes from " + std::to_string(weights.quant_min) + " to " +
                               std::to_string(weights.quant_max),
                           "rounding by data (AdaRound, GPTQ), or 8 bits for this layer: zp::for_layer<\"" + row.layer +
                               "\", ...>"});
        else
            all.push_back({row.row, row.name, what + ", with " + std::to_string(weights.used_codes) + " codes used",
                           "an observer for weights that cuts rare ones (zp::mse_observer), or rounding by data"});
    }
}

}  // namespace detail

/// `whole` and `alone` are of the same networks, by comparison_mode::whole_networks and each_row. The worst rows come first.
inline std::vector<advice> advise(const comparison& whole, const comparison& alone) {
    std::vector<advice> all;
    std::vector<int> blamed;
    for (const row_comparison& row : alone.worst()) {
        detail::advise_values(row, alone, all, blamed);
        detail::advise_weights(row, all);
    }
    if (whole.rows.empty()) return all;
    const row_comparison& last = whole.rows.back();
    double bias = 0, error = 0;
    for (const row_comparison& row : whole.rows) {
        bias += std::abs(row.values.mean_error());
        error += std::sqrt(row.values.mean_squared_error());
    }
    if (last.sqnr() < detail::enough_decibels && bias > 0.25 * error)
        all.push_back({-1, "",
                       "errors have a direction: on average " + detail::percent_text(bias / error) +
                           " of their size is their mean",
                       "zp::correct_biases in the qconfig, as zp::accurate_qconfig has it"});
    const bool is_good_alone = alone.worst().front().sqnr() >= detail::enough_decibels;
    if (last.sqnr() < detail::bad_decibels && is_good_alone)
        all.push_back({-1, "",
                       "no row is bad by itself: the errors of " + std::to_string(whole.rows.size()) +
                           " rows add up to " + detail::decibels(last.sqnr()),
                       "int16_qconfig for the most sensitive rows (zp::sensitivity finds them), or training with fake "
                       "quantization"});
    return all;
}

}  // namespace zp::inline v0
