// SPDX-License-Identifier: BSD-3-Clause
// Comparisons for other programs: as JSON, and as the CSV of TFLite's QuantizationDebugger.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <zeropoint/analysis/comparison.hpp>
#include <zeropoint/io/json_writer.hpp>

namespace zp::inline v0 {

/// Shares of values in bins of one width from `low` to `high`: of the real values, and of what the codes stand for.
struct paired_histogram {
    double low = 0, high = 0;
    std::vector<double> real, rounded;
};
/// Of what a row has seen, over everything that the real values and the codes reach.
inline paired_histogram histogram_of(const exact_histogram<2048>& seen, const code_counts& codes, const qparams& range,
                                     std::int32_t quant_min, std::int32_t quant_max, std::size_t bins = 64) {
    paired_histogram h;
    if (seen.range().empty()) return h;
    h.low = double{seen.range().min};
    h.high = double{seen.range().max};
    const bool has_codes = range.scale != 0 && !codes.counts().empty();
    if (has_codes) {
        h.low = std::min(h.low, double{dequantize(quant_min, range)});
        h.high = std::max(h.high, double{dequantize(quant_max, range)});
    }
    if (!(h.low < h.high)) h.high = h.low + 1;
    const double width = (h.high - h.low) / static_cast<double>(bins);
    double total = 0, before = 0;
    for (const std::uint64_t n : seen.counts()) total += static_cast<double>(n);
    for (std::size_t i = 0; i != bins; ++i) {
        const double below = i + 1 == bins ? total : seen.count_below(h.low + width * static_cast<double>(i + 1));
        h.real.push_back((below - before) / total);
        before = below;
    }
    if (!has_codes) return h;
    h.rounded.resize(bins);
    double all = 0;
    for (const std::uint64_t n : codes.counts()) all += static_cast<double>(n);
    for (std::size_t g = 0; g != codes.counts().size() && all != 0; ++g) {
        const double code =
            codes.first() + (static_cast<double>(g) + 0.5) * static_cast<double>(codes.codes_in_group()) - 0.5;
        const double value = double{range.scale} * (code - range.zero_point);
        const auto bin =
            static_cast<std::size_t>(std::clamp((value - h.low) / width, 0.0, static_cast<double>(bins) - 1));
        h.rounded[bin] += static_cast<double>(codes.counts()[g]) / all;
    }
    return h;
}

namespace detail {

inline void add_histogram(json_writer& json, const paired_histogram& h) {
    json.object("histogram", [&] {
        json.member("low", static_cast<float>(h.low));
        json.member("high", static_cast<float>(h.high));
        const auto share = [&](double x) { json.value(static_cast<float>(std::round(x * 1e7) / 1e7)); };
        json.array("real", h.real, share);
        if (!h.rounded.empty()) json.array("codes", h.rounded, share);
    });
}
/// The members of its object.
inline void add_weights(json_writer& json, const weight_comparison& weights) {
    json.member("name", weights.name);
    json.member("count", weights.count);
    json.member("sqnr", weights.sqnr);
    json.member("cosine", weights.cosine);
    json.member("mean_error", weights.mean_error);
    json.member("max_error", weights.max_error);
    json.member("saturated_share", weights.saturated_share);
    json.member("used_codes", weights.used_codes);
    json.member("quant_min", weights.quant_min);
    json.member("quant_max", weights.quant_max);
    json.member("spread", weights.spread());
    const auto column = [&](const char* name, auto member) {
        json.array(name, weights.channels, [&](const weight_comparison::channel& one) { json.value(one.*member); });
    };
    using channel = weight_comparison::channel;
    column("min", &channel::min);
    column("max", &channel::max);
    column("scale", &channel::scale);
    column("zero_point", &channel::zero_point);
    column("channel_sqnr", &channel::sqnr);
    const qparams none{0, 0};
    add_histogram(json, histogram_of(weights.histogram, code_counts(), none, 0, 0));
}
inline void add_row(json_writer& json, const row_comparison& row) {
    json.member("row", row.row);
    json.member("name", row.name);
    json.member("operation", row.operation);
    json.member("layer", row.layer);
    json.array("reads", row.reads);
    json.array("extents", std::vector<int>{row.out.depth, row.out.height, row.out.width, row.out.channels});
    json.member("storage", zp::name_of(row.type));
    json.member("count", row.values.count());
    json.member("sqnr", row.sqnr());
    json.member("cosine", row.values.cosine());
    json.member("mean_error", row.values.mean_error());
    json.member("max_error", row.values.max_error());
    json.member("mean_squared_error", row.values.mean_squared_error());
    json.member("min", row.values.histogram().range().min);
    json.member("max", row.values.histogram().range().max);
    json.member("dead_channels", row.dead_channels);
    json.member("lost_channels", row.lost_channels);
    if (row.quantization.scale != 0) {
        json.member("scale", row.quantization.scale);
        json.member("zero_point", row.quantization.zero_point);
        json.member("quant_min", row.quant_min);
        json.member("quant_max", row.quant_max);
        json.member("rmse_in_steps", row.rmse_in_steps());
        json.member("saturated_share", row.saturated_share());
        json.member("clipped_share", row.clipped_share);
        json.member("used_codes", row.codes.used());
    }
    json.array("channel_size", row.values.channels(), [&](const channel_errors& one) { json.value(one.largest); });
    json.array("channel_sqnr", row.values.channels(),
               [&](const channel_errors& one) { json.value(static_cast<float>(decibel(one.signal, one.noise))); });
    add_histogram(json,
                  histogram_of(row.values.histogram(), row.codes, row.quantization, row.quant_min, row.quant_max));
    json.objects("weights", row.weights, [&](const weight_comparison& one) { add_weights(json, one); });
}
inline void add_comparison(json_writer& json, const comparison& all) {
    json.open_object();
    json.member("mode", name_of(all.mode));
    json.member("inputs", all.inputs);
    json.rows("rows", all.rows, [&](const row_comparison& row) { add_row(json, row); });
    json.close_object();
}

/// A cell of CSV: in quotes where it has to be.
inline std::string csv_text(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + "\"";
}

}  // namespace detail

/// Everything as JSON: docs/inspection.md has the keys. What is infinite is null.
template <std::same_as<comparison> Comparison> std::string to_json(const Comparison& all) {
    json_writer json;
    detail::add_comparison(json, all);
    return json.text() + "\n";
}

/// The rows that compute codes as a table with the columns of TFLite's QuantizationDebugger.layer_statistics_dump, and behind them
/// rmse/scale and range, which its guide computes. stddev, mean_error, max_abs_error and mean_squared_error are means over inputs of an
/// input's figures, as there; errors are dequantized less float. op_name is the operator's name here, tensor_idx the row, tensor_name the
/// layer's. What TFLite compares is comparison_mode::shadow; docs/inspection.md says where figures are equal.
template <std::same_as<comparison> Comparison> std::string to_csv(const Comparison& all) {
    std::string text =
        "op_name,tensor_idx,num_elements,stddev,mean_error,max_abs_error,mean_squared_error,scale,"
        "zero_point,tensor_name,rmse/scale,range\n";
    for (const row_comparison& row : all.rows) {
        if (row.quantization.scale == 0 || !row.computes) continue;
        const pair_statistics& v = row.values;
        text += detail::csv_text(row.operation) + "," + std::to_string(row.row) + "," + std::to_string(row.out.size());
        for (const double x : {v.mean_deviation(), v.mean_error(), v.mean_largest_error(), v.mean_squared_error()})
            text += "," + number_text(x);
        text += "," + number_text(row.quantization.scale) + "," + std::to_string(row.quantization.zero_point) + "," +
                detail::csv_text(row.name) + "," + number_text(row.rmse_in_steps()) + "," +
                number_text(double{row.quantization.scale} * (row.quant_max - row.quant_min)) + "\n";
    }
    return text;
}

}  // namespace zp::inline v0
