// What calibration has seen, activation by activation, and what about it should worry you.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>

namespace zp {
inline namespace v0 {

/// Fewer inputs than this are reported as too few.
inline constexpr std::uint64_t enough_samples = 32;

/// One activation.
struct activation_report {
    std::string name;                            // of the layer that makes it
    std::uint64_t samples = 0;                   // inputs seen
    std::uint64_t count = 0;                     // values seen
    float min = 0, max = 0;                      // of the values
    float quantized_min = 0, quantized_max = 0;  // what the codes reach from and to
    qparams range;
    double clipped_share = 0;  // of the values, outside of what the codes reach
    int channels = 0;
    int constant_channels = 0;  // the same value in every input; dead channels are among them
    int dead_channels = 0;      // zero in every input
};

struct calibration_report {
    std::uint64_t samples = 0;
    std::vector<activation_report> activations;
    std::vector<std::string> warnings;  // sentences
};

namespace detail {
inline void add_warnings(const activation_report& seen, std::vector<std::string>& warnings) {
    const auto of_channels = [&](int n) {
        return std::to_string(n) + " of " + std::to_string(seen.channels) + " channels";
    };
    if (seen.min == seen.max)
        warnings.push_back(seen.name + ": every value was " + std::to_string(seen.min) +
                           "; was the calibration data varied?");
    else if (seen.dead_channels != 0)
        warnings.push_back(seen.name + ": " + of_channels(seen.dead_channels) + " were always zero");
    else if (seen.constant_channels != 0)
        warnings.push_back(seen.name + ": " + of_channels(seen.constant_channels) + " never changed");
    if (seen.clipped_share > 0.01)
        warnings.push_back(seen.name + ": " + std::to_string(100 * seen.clipped_share) +
                           " % of the values lie outside of the codes' range");
}
}  // namespace detail

/// Samples, ranges, clipped share, constant and dead channels of every activation. Raises calibration_error where nothing was seen.
template <class Net, class Config, class Arch> calibration_report report(const calibrated<Net, Config, Arch>& source) {
    using stage = prepared_stage<Net, Config, Arch>;
    calibration_report all;
    all.samples = source.samples();
    if (all.samples < enough_samples)
        all.warnings.push_back("calibrated with " + std::to_string(all.samples) + " inputs only: take at least " +
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
            seen.range = choose_activation_qparams<quantizer_type>(watched.observer, n, seen.name);
            seen.samples = watched.statistics.samples();
            seen.count = watched.statistics.count();
            seen.min = watched.statistics.min();
            seen.max = watched.statistics.max();
            seen.quantized_min = dequantize(dtype::quant_min, seen.range);
            seen.quantized_max = dequantize(dtype::quant_max, seen.range);
            seen.clipped_share = watched.statistics.clipped_share(seen.range, dtype::quant_min, dtype::quant_max);
            seen.channels = n.out.extents.channels;
            seen.dead_channels = static_cast<int>(watched.statistics.dead_channels().size());
            seen.constant_channels =
                seen.dead_channels + static_cast<int>(watched.statistics.constant_channels().size());
            detail::add_warnings(seen, all.warnings);
            all.activations.push_back(std::move(seen));
        });
    }
    return all;
}

/// The report as a table of text, one line an activation, warnings below.
inline std::string to_string(const calibration_report& all) {
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
    }
    for (const std::string& warning : all.warnings) text += "warning: " + warning + "\n";
    return text;
}

}  // namespace v0
}  // namespace zp
