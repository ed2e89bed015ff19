// SPDX-License-Identifier: BSD-3-Clause
// A quantized network beside its float one, as values: rows, weights, and how they are sorted and printed.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <zeropoint/analysis/code_counts.hpp>
#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/analysis/pair_statistics.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>

namespace zp::inline v0 {

/// What a row is compared with.
enum class comparison_mode : std::uint8_t {
    whole_networks,  ///< both networks run on the same inputs: errors of earlier rows are in later ones
    each_row,  ///< the row alone runs, on the float network's values, quantized: its own error, its inputs' rounding included
    shadow  ///< the quantized network runs, and the float row on what the quantized one reads: its own error alone, as TFLite's debugger
    ///< and PyTorch's shadow loggers have it. As in TFLite's, floats that are quantized for a row are read as they were.
};
constexpr const char* name_of(comparison_mode mode) {
    return mode == comparison_mode::whole_networks ? "whole_networks"
           : mode == comparison_mode::each_row     ? "each_row"
                                                   : "shadow";
}

/// One array of weights beside what its codes stand for. Channels are output channels, or rows of a matrix or table.
struct weight_comparison {
    std::string name;         // "weight"
    std::uint64_t count = 0;  // how many weights
    /// In dB; cosine of the angle between both; mean and largest size of errors, in the weights' unit.
    double sqnr = 0, cosine = 0, mean_error = 0, max_error = 0;
    double saturated_share = 0;  // of the codes, at an end of their range
    std::size_t used_codes = 0;  // how many different codes there are
    std::int32_t quant_min = 0, quant_max = 0;
    /// One channel.
    struct channel {
        float min = 0, max = 0;       // of the floats
        float scale = 0;              // the largest, where a channel has several
        std::int32_t zero_point = 0;  // the code of zero
        double sqnr = 0;              // in dB
    };
    std::vector<channel> channels;    // one entry a channel
    exact_histogram<2048> histogram;  // of the floats
    code_counts codes;                // how often each code is there

    /// The largest channel's size over the smallest one's that is not 0: what a scale for all of them would cost.
    double spread() const {
        float least = infinity, most = 0;
        for (const channel& one : channels) {
            const float size = std::max(std::abs(one.min), std::abs(one.max));
            if (size > 0) least = std::min(least, size);
            most = std::max(most, size);
        }
        return most > 0 ? double{most} / double{least} : 1;
    }
};

/// One row of the quantized network.
struct row_comparison {
    int row = 0;                  // its number in the quantized network
    std::string name, operation;  // "conv1", "conv2d + relu"
    std::string layer;  // what a qconfig calls it: of a merged add the layer in front of it; empty where nothing does
    bool computes =
        true;  // false of a row that only brings values to codes or to another grid, and of codes that come in
    std::vector<int> reads;                   // rows
    shape out;                                // extents of the output
    scalar_type type = scalar_type::float32;  // of its values
    qparams quantization{0, 0};               // what its codes mean; scale 0 of floats
    std::int32_t quant_min = 0, quant_max = 0;
    pair_statistics values{1};                 // errors of its values, over all inputs
    code_counts codes;                         // how often each code came
    std::uint64_t saturated = 0;               // codes that are cut off: see zp::saturation
    double clipped_share = 0;                  // of the real values, outside of what the codes reach
    int dead_channels = 0, lost_channels = 0;  // zero in every input; of these, those that are not in the float network
    std::vector<weight_comparison> weights;    // one entry an array of weights

    /// Signal to quantization noise of its values, in dB.
    double sqnr() const { return values.sqnr(); }
    /// Of its codes, in [0, 1].
    double saturated_share() const {
        return values.count() == 0 ? 0 : static_cast<double>(saturated) / static_cast<double>(values.count());
    }
    /// The root of the mean squared error in steps: 0.289 = 1 / sqrt(12) is what rounding alone leaves. 0 of floats.
    double rmse_in_steps() const {
        const double scale = double{quantization.scale};
        return scale == 0 ? 0 : std::sqrt(values.mean_squared_error()) / scale;
    }
};

/// A quantized network beside its float one, row by row: see zp::compare.
struct comparison {
    comparison_mode mode = comparison_mode::whole_networks;  // what a row is compared with
    std::uint64_t inputs = 0;                                // how many inputs were compared
    std::vector<row_comparison> rows;                        // in the order of the network

    /// The rows by `key(row)`, the least first.
    template <class Key> std::vector<row_comparison> sorted(Key key) const {
        std::vector<row_comparison> all = rows;
        std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
        return all;
    }
    /// Those of the least SQNR first.
    std::vector<row_comparison> worst() const {
        return sorted([](const row_comparison& row) { return row.sqnr(); });
    }
    /// The row of a layer's name, or null.
    const row_comparison* find(std::string_view name) const {
        for (const row_comparison& row : rows)
            if (row.name == name) return &row;
        return nullptr;
    }
};

namespace detail {
inline std::string decibel_text(double x) { return x == double_infinity ? "exact" : fixed_text(1, x); }
inline std::string percent_text(double share) { return share == 0 ? "" : fixed_text(2, 100 * share) + " %"; }
/// "3 of 16", of channels; nothing for none.
inline std::string dead_text(const row_comparison& row) {
    if (row.dead_channels == 0) return {};
    std::string text = std::to_string(row.dead_channels) + " of " + std::to_string(row.out.channels);
    return row.lost_channels == 0 ? text : text + ", " + std::to_string(row.lost_channels) + " in int8 alone";
}
inline std::string weights_text(const row_comparison& row) {
    std::string text;
    for (const weight_comparison& one : row.weights) {
        text += text.empty() ? "" : ", ";
        if (row.weights.size() != 1) text += one.name + " ";
        text += decibel_text(one.sqnr);
    }
    return text;
}
}  // namespace detail

/// A table, a line for each of `rows`: in their order, `to_string(c, c.worst())` with the worst first.
template <std::same_as<comparison> Comparison>
std::string to_string(const Comparison& all, const std::vector<row_comparison>& rows) {
    std::vector<std::vector<std::string>> lines{{"row", "layer", "operation", "SQNR", "weights", "cosine", "rmse/scale",
                                                 "max error", "saturated", "codes", "dead channels", "scale",
                                                 "zero point"}};
    for (const row_comparison& row : rows) {
        const bool has_codes = row.quantization.scale != 0;
        lines.push_back({std::to_string(row.row), row.name, row.operation, detail::decibel_text(row.sqnr()),
                         detail::weights_text(row), detail::fixed_text(6, row.values.cosine()),
                         has_codes ? detail::fixed_text(3, row.rmse_in_steps()) : "",
                         detail::figure(4, row.values.max_error()), detail::percent_text(row.saturated_share()),
                         has_codes ? std::to_string(row.codes.used()) : "", detail::dead_text(row),
                         detail::scale_text(row.quantization), detail::zero_point_text(row.quantization)});
    }
    constexpr bool to_the_right[] = {true, false, false, true, true, true, true, true, true, true, false, false, true};
    return std::string(name_of(all.mode)) + ", " + std::to_string(all.inputs) + " inputs, SQNR in dB\n" +
           detail::aligned_columns(lines, to_the_right);
}
template <std::same_as<comparison> Comparison> std::string to_string(const Comparison& all) {
    return to_string(all, all.rows);
}
/// The same, printed, the worst rows first.
template <std::same_as<comparison> Comparison> void print(const Comparison& all, std::FILE* file = stdout) {
    std::fputs(to_string(all, all.worst()).c_str(), file);
}

}  // namespace zp::inline v0
