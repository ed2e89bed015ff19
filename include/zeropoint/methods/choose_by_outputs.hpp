// SPDX-License-Identifier: BSD-3-Clause
// The conversion that compares outputs: the best of several ways to choose ranges, and corrected biases where they help.
#pragma once

#include <utility>

#include <zeropoint/methods/correct_biases.hpp>
#include <zeropoint/methods/search_ranges.hpp>
#include <zeropoint/workflow/convert.hpp>

// Which observer is best differs from network to network, and values do not say it. Calibration under compare_outputs keeps some inputs,
// and convert tries what zp::search_ranges and zp::correct_biases_by_data do on them before it converts.

namespace zp::inline v0 {

/// What choose_by_outputs found: means over the kept inputs of 10 log10(signal / noise) of all outputs.
struct output_choice {
    range_search ranges;        ///< of activations
    double corrected = 0;       ///< in dB, with these ranges and corrected biases
    bool biases_taken = false;  ///< whether they are
};

/// The same calibrated network with what was chosen over the inputs that it kept, which it then forgets. convert does this by itself; do it
/// once where several functions follow that convert (adaround, simulate, sensitivity, ...).
template <class Net, class QConfig, class Arch>
calibrated<Net, QConfig, Arch> choose_by_outputs(const calibrated<Net, QConfig, Arch>& source,
                                                 output_choice* report = nullptr) {
    constexpr double least_gain = 0.2;  // in dB: what gains less may be chance
    output_choice done;
    calibrated<Net, QConfig, Arch> result = source;
    const auto kept = std::exchange(result.kept(), {});
    if (!kept.empty()) {
        result = search_ranges(result, kept, {.inputs = kept.size()}, &done.ranges);
        done.corrected = done.ranges.after;
        if constexpr (!qconfig_entries<QConfig>::corrects_biases) {
            detail::output_comparison<Net, QConfig, Arch> outputs(result, kept, kept.size());
            calibrated<Net, QConfig, Arch> corrected = correct_biases_by_data(result, kept);
            done.corrected = outputs.quality_of(corrected);
            done.biases_taken = done.corrected > done.ranges.after + least_gain;
            if (done.biases_taken) result = std::move(corrected);
        }
    }
    if (report != nullptr) *report = std::move(done);
    return result;
}

/// The int8 network with what choose_by_outputs finds.
template <class Net, class Config, class Arch>
    requires(qconfig_entries<Config>::kept_inputs != 0)
quantized<Net, Config, Arch> convert(const calibrated<Net, Config, Arch>& source, conversion_notes* notes = nullptr) {
    if (source.kept().empty()) return detail::convert_as_it_is(source, notes);
    return detail::convert_as_it_is(choose_by_outputs(source), notes);
}

}  // namespace zp::inline v0
