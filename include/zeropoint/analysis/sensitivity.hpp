// SPDX-License-Identifier: BSD-3-Clause
// Which rows of a quantized network cost its accuracy: each one quantized alone, and each one left in float alone.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/analysis/input_stream.hpp>
#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/analysis/pair_statistics.hpp>
#include <zeropoint/analysis/simulated.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/io/json_writer.hpp>

namespace zp::inline v0 {

/// What is switched of each row.
enum class switched : std::uint8_t { both, values, weights };

/// A row, and what the metric is: in its own unit, greater is better.
struct row_sensitivity {
    simulated_row what;  // the row, and what of it is switched
    double alone = 0;    // everything else in float
    double without = 0;  // this row in float, everything else quantized
};
/// Which rows cost accuracy: see zp::sensitivity.
struct sensitivity_report {
    std::string metric = "SQNR of the output, dB";  // name and unit of the metric
    double floats = 0, quantized = 0;               // of the float network, and of the quantized one
    std::vector<row_sensitivity> rows;              // in the order of the network

    /// Those first that lose most when they alone are quantized.
    std::vector<row_sensitivity> worst() const {
        std::vector<row_sensitivity> sorted = rows;
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const row_sensitivity& a, const row_sensitivity& b) { return a.alone < b.alone; });
        return sorted;
    }
};

namespace detail {

template <class Simulated> void switch_row(Simulated& model, const simulated_row& one, switched what, bool quantized) {
    const precision values = what == switched::weights ? model.values_of(one)
                             : quantized               ? precision::as_converted
                                                       : precision::float32;
    const bool weights = what == switched::values ? model.rounds_weights(one) : quantized;
    model.set(one, values, weights);
}
/// Whether a row has what is switched.
inline bool has_switch(const simulated_row& one, switched what) {
    return (one.has_values && what != switched::weights) || (one.has_weights && what != switched::values);
}
inline sensitivity_report rows_to_switch(std::span<const simulated_row> switches, switched what) {
    sensitivity_report result;
    for (const simulated_row& one : switches)
        if (has_switch(one, what)) result.rows.push_back({one});
    return result;
}
}  // namespace detail

/// `metric(model)` of the float network, of the quantized one, and of both with one row switched: 2 (rows + 1) calls. It gets a
/// const zp::simulated, which is called as any network, and returns what is better the greater it is: accuracy on a test set, say.
/// `progress(calls done, calls)` is called after each.
template <class Net, class QConfig, class Arch, class Metric, class Progress = void (*)(std::size_t, std::size_t)>
    requires std::invocable < Metric&, const simulated<Net, QConfig, Arch>
& > sensitivity_report sensitivity(
        simulated<Net, QConfig, Arch> model, Metric metric, switched what = switched::both,
        Progress progress = [](std::size_t, std::size_t) {}) {
    sensitivity_report result = detail::rows_to_switch(model.switches(), what);
    result.metric = "metric";
    std::size_t done = 0;
    const auto measured = [&] {
        const double value = static_cast<double>(metric(std::as_const(model)));
        progress(++done, 2 * (result.rows.size() + 1));
        return value;
    };
    model.disable_all();
    result.floats = measured();
    for (row_sensitivity& one : result.rows) {
        detail::switch_row(model, one.what, what, true);
        one.alone = measured();
        detail::switch_row(model, one.what, what, false);
    }
    model.enable_all();
    result.quantized = measured();
    for (row_sensitivity& one : result.rows) {
        detail::switch_row(model, one.what, what, false);
        one.without = measured();
        detail::switch_row(model, one.what, what, true);
    }
    return result;
}

/// The same by the signal to quantization noise of all outputs, in dB, without labels. `batches` is what zp::calibrate takes; memory
/// does not depend on how many inputs there are. Of each input rows in front of the switched one are computed once.
template <class Net, class QConfig, class Arch, class Batches>
    requires(!std::invocable<const Batches&, const simulated<Net, QConfig, Arch>&>)
sensitivity_report sensitivity(simulated<Net, QConfig, Arch> model, const Batches& batches,
                               switched what = switched::both) {
    using simulated_type = simulated<Net, QConfig, Arch>;
    sensitivity_report result = detail::rows_to_switch(model.switches(), what);
    std::vector<double> alone(result.rows.size()), without(result.rows.size());
    double signal = 0, quantized = 0;
    typename simulated_type::workspace memory;
    detail::output_buffers<simulated_type> real, changed;
    // From the last row to the first, so that those in front are still the ones of the first run.
    const auto sweep = [&](const void* const* xs, bool quantize, std::vector<double>& noise) {
        for (std::size_t r = result.rows.size(); r-- != 0;) {
            const simulated_row& one = result.rows[r].what;
            detail::switch_row(model, one, what, quantize);
            model.run(xs, changed.pointers.data(), memory, one.row);
            noise[r] += real.distance(changed);
            detail::switch_row(model, one, what, !quantize);
        }
    };
    detail::for_each_input<typename simulated_type::stage>(batches, [&](const void* const* xs) {
        model.disable_all();
        model.run(xs, real.pointers.data(), memory);
        signal += real.energy();
        sweep(xs, true, alone);
        model.enable_all();
        model.run(xs, changed.pointers.data(), memory);
        quantized += real.distance(changed);
        sweep(xs, false, without);
    });
    result.floats = decibel(signal, 0);
    result.quantized = decibel(signal, quantized);
    for (std::size_t r = 0; r != result.rows.size(); ++r) {
        result.rows[r].alone = decibel(signal, alone[r]);
        result.rows[r].without = decibel(signal, without[r]);
    }
    return result;
}

/// A table, the worst rows first.
template <std::same_as<sensitivity_report> Report> std::string to_string(const Report& report) {
    const auto number = [](double x) { return detail::figure(4, x); };
    std::vector<std::vector<std::string>> lines{{"row", "layer", "operation", "it alone", "all but it"}};
    for (const row_sensitivity& one : report.worst())
        lines.push_back(
            {std::to_string(one.what.row), one.what.name, one.what.operation, number(one.alone), number(one.without)});
    constexpr bool to_the_right[] = {true, false, false, true, true};
    return report.metric + ": " + number(report.floats) + " in float, " + number(report.quantized) + " quantized\n" +
           detail::aligned_columns(lines, to_the_right);
}

namespace detail {
inline void add_sensitivity(json_writer& json, const sensitivity_report& report) {
    json.open_object();
    json.member("metric", report.metric);
    json.member("floats", report.floats);
    json.member("quantized", report.quantized);
    json.rows("rows", report.rows, [&](const row_sensitivity& one) {
        json.member("row", one.what.row);
        json.member("name", one.what.name);
        json.member("operation", one.what.operation);
        json.member("alone", one.alone);
        json.member("without", one.without);
    });
    json.close_object();
}
}  // namespace detail

/// For programs; what is infinite is null.
template <std::same_as<sensitivity_report> Report> std::string to_json(const Report& report) {
    json_writer json;
    detail::add_sensitivity(json, report);
    return json.text() + "\n";
}

}  // namespace zp::inline v0
