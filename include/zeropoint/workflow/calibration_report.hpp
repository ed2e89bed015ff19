// SPDX-License-Identifier: BSD-3-Clause
// What calibration has seen, activation by activation, and what about it should worry you.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>

namespace zp::inline v0 {

/// Fewer inputs than this are reported as too few.
inline constexpr std::uint64_t enough_samples = 32;

/// One activation.
struct activation_report {
    std::string name;                            // of the layer that makes it
    std::uint64_t samples = 0;                   // inputs seen
    std::uint64_t count = 0;                     // values seen
    float min = 0, max = 0;                      // of the values
    float quantized_min = 0, quantized_max = 0;  // what the codes reach from and to
    qparams range;                               // scale and zero point that calibration chose
    double clipped_share = 0;                    // of the values, outside of what the codes reach, or of a known range
    int channels = 0;                            // how many channels the activation has
    int constant_channels = 0;                   // the same value in every input; dead channels are among them
    int dead_channels = 0;                       // zero in every input
    std::string
        computed;  // "dynamic", "weight-only" or "float32" where the qconfig lets the layer give floats; else empty
};

/// A value on a grid that was chosen for other values, as those of a concat, or in front of a pool.
struct shared_grid {
    std::string name, grid;  // of the layers that make the value, and whose range the grid has
    float min = 0, max = 0;  // of the value
    double bits = 0;         // how many bits finer a grid of its own would be
};
/// Values that lose more bits than this are reported.
inline constexpr double lost_bits_reported = 0.5;

/// What calibration saw, one entry an activation: see zp::report.
struct calibration_report {
    std::uint64_t samples = 0;                   // inputs that were seen
    std::vector<activation_report> activations;  // in the order of the network
    std::vector<shared_grid> coarse;             // values that lose more than half a bit, in the order of layers
    std::vector<std::string> warnings;           // sentences
};

namespace detail {
/// varies: its values come from calls; those of a constant never change.
template <class = void>
void add_warnings(const activation_report& seen, bool varies, std::vector<std::string>& warnings) {
    const auto of_channels = [&](int n) {
        return std::to_string(n) + " of " + std::to_string(seen.channels) + " channels";
    };
    if (varies && seen.min == seen.max)
        warnings.push_back(seen.name + ": every value was " + number_text(seen.min) +
                           "; was the calibration data varied?");
    else if (varies && seen.dead_channels != 0)
        warnings.push_back(seen.name + ": " + of_channels(seen.dead_channels) + " were always zero");
    else if (varies && seen.constant_channels != 0)
        warnings.push_back(seen.name + ": " + of_channels(seen.constant_channels) + " never changed");
    if (seen.clipped_share > 0.01)
        warnings.push_back(seen.name + ": " + fixed_text(2, 100 * seen.clipped_share) +
                           " % of the values lie outside of the codes' range");
}

/// Of the values, those outside of what the codes reach. An end of a known range may be one step beyond the codes, as the 1 of a sigmoid
/// and of tanh: what has it is meant to be the outermost code, and is not clipped.
template <class DType>
double clipped_share_of(const range_statistics& seen, const qparams& range, const node& n, bool is_given) {
    const double codes = seen.clipped_share(range, DType::quant_min, DType::quant_max);
    if (codes == 0 || is_given || !has_known_range(n)) return codes;
    const float half = range.scale / 2, low = dequantize(DType::quant_min, range),
                high = dequantize(DType::quant_max, range);
    return seen.clipped_share(std::min(low, n.op->output_min) - half, std::max(high, n.op->output_max) + half);
}

/// How much coarser the range of node `chooser` is for the values of node i than one of their own, if by more than is reported.
template <class Calibrated> void add_coarse(const Calibrated& source, int i, int chooser, calibration_report& all) {
    const node& of_range = Calibrated::stage::table.nodes[chooser];
    const observed_range seen = source.range_of_values(i);
    if (!(seen.min < seen.max)) return;
    source.observers().visit(of_range.out.qparams_id, [&](const auto& watched) {
        using quantizer = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
        const shared_grid names{display_name(source.rows(), i), display_name(source.rows(), chooser), seen.min,
                                seen.max};
        const qparams shared = choose_activation_qparams<quantizer>(watched.observer, of_range, names.grid,
                                                                    source.given().range_of(of_range.out.qparams_id)),
                      own = choose_observed_qparams<typename quantizer::dtype, typename quantizer::qscheme,
                                                    typename quantizer::rule>(seen.min, seen.max, names.name);
        const double bits = std::log2(double{shared.scale} / double{own.scale});
        if (!(bits > lost_bits_reported)) return;
        all.coarse.push_back(names);
        all.coarse.back().bits = bits;
        all.warnings.push_back(names.name + ": its values, from " + number_text(seen.min) + " to " +
                               number_text(seen.max) + ", are on the grid of " + names.grid + ", which costs them " +
                               fixed_text(1, bits) + " bits");
    });
}
/// Every value whose scale another node has chosen, and every one that a concat brings to its own.
template <class Calibrated> void add_shared_grids(const Calibrated& source, calibration_report& all) {
    constexpr const auto& nodes = Calibrated::stage::table;
    for (int i = 0; i != nodes.size; ++i) {
        const node& n = nodes.nodes[i];
        if (n.is_indices() || n.flags.keep_float) continue;
        const int chooser = source.observers().reporter(n.out.qparams_id);
        const bool is_chosen = nodes.nodes[chooser].out.qparams_id == n.out.qparams_id &&  // neither derived nor known
                               !has_known_range(nodes.nodes[chooser]);
        if (!n.flags.observed && is_chosen) add_coarse(source, i, chooser, all);
        if (n.op->inputs != input_rule::same_qparams || n.op->has_own_range) continue;
        for (int k = 0; k != n.input_count; ++k)
            if (nodes.view(i).x_type(k).qparams_id != n.out.qparams_id) add_coarse(source, n.inputs[k], i, all);
    }
}
}  // namespace detail

template <class Net, class Config, class Arch> void report(const prepared<Net, Config, Arch>&) {
    static_assert(sizeof(Net) == 0,
                  "report(prepared): this network has seen no data yet; call zp::calibrate(prepared, batches) first "
                  "and report what it "
                  "returns");
}
/// Samples, ranges, clipped share, constant and dead channels of every activation. Raises calibration_error where nothing was seen.
template <class Net, class Config, class Arch> calibration_report report(const calibrated<Net, Config, Arch>& source) {
    using stage = prepared_stage<Net, Config, Arch>;
    calibration_report all;
    all.samples = source.samples();
    if (all.samples < enough_samples)
        all.warnings.push_back("calibrated with " + std::to_string(all.samples) +
                               (all.samples == 1 ? " input" : " inputs") + " only: take at least " +
                               std::to_string(enough_samples) +
                               ", better some hundreds, of the kind that the model will meet");
    for (int i = 0; i != stage::table.size; ++i) {
        const node& n = stage::table.nodes[i];
        if (n.is_indices() || source.observers().reporter(n.out.qparams_id) != i) continue;
        source.observers().visit(n.out.qparams_id, [&](const auto& watched) {
            using quantizer_type = typename std::remove_cvref_t<decltype(watched)>::quantizer_type;
            using dtype = typename quantizer_type::dtype;
            activation_report seen;
            seen.name = display_name(source.rows(), i);
            const qparams* given = source.given().range_of(n.out.qparams_id);
            seen.range = choose_activation_qparams<quantizer_type>(watched.observer, n, seen.name, given);
            seen.samples = watched.statistics.samples();
            seen.count = watched.statistics.count();
            seen.min = watched.statistics.min();
            seen.max = watched.statistics.max();
            seen.quantized_min = dequantize(dtype::quant_min, seen.range);
            seen.quantized_max = dequantize(dtype::quant_max, seen.range);
            seen.clipped_share = detail::clipped_share_of<dtype>(watched.statistics, seen.range, n, given != nullptr);
            seen.channels = n.out.extents.channels;
            seen.dead_channels = static_cast<int>(watched.statistics.dead_channels().size());
            seen.constant_channels =
                seen.dead_channels + static_cast<int>(watched.statistics.constant_channels().size());
            if (n.flags.keep_float) seen.computed = stage::entries::products_of(stage::loose.nodes[i]);
            detail::add_warnings(seen, n.input_count != 0 || n.op->is_input, all.warnings);
            all.activations.push_back(std::move(seen));
        });
    }
    detail::add_shared_grids(source, all);
    return all;
}

/// The report as a table of text, one line an activation, warnings below.
template <class = void> std::string to_string(const calibration_report& all) {
    char line[200];
    std::snprintf(line, sizeof line, "%-24s %8s %12s %12s %12s %12s %5s %9s %9s\n", "activation", "samples", "min",
                  "max", "scale", "codes to", "zero", "clipped", "dead");
    std::string text = line;
    for (const activation_report& a : all.activations) {
        std::snprintf(line, sizeof line, "%-24s %8llu %12.5g %12.5g %12.5g %12.5g %5d %8.3f%% %4d/%-4d\n",
                      a.name.c_str(), static_cast<unsigned long long>(a.samples), double{a.min}, double{a.max},
                      double{a.range.scale}, double{a.quantized_max}, a.range.zero_point, 100 * a.clipped_share,
                      a.dead_channels, a.channels);
        text += line;
        if (!a.computed.empty()) text.insert(text.size() - 1, "  " + a.computed);
    }
    for (const std::string& warning : all.warnings) text += "warning: " + warning + "\n";
    return text;
}

}  // namespace zp::inline v0
