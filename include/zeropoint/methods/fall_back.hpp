// SPDX-License-Identifier: BSD-3-Clause
// Which layers to leave in float so that accuracy is kept: tried at run time, given as lines of a qconfig.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/analysis/sensitivity.hpp>

namespace zp::inline v0 {

/// How zp::fall_back works.
struct fall_back_options {
    double max_drop = 0.005;  ///< how much less than the float network's the metric may be
    int most = 1'000;         ///< layers in float at most
};
/// What fall_back found.
struct fall_back_report {
    /// One layer that was tried.
    struct step {
        std::string layer;     // its name
        double metric = 0;     // with this layer and all that were kept before it in float
        bool is_kept = false;  // false where it did not help
    };
    /// The metric: of the float network, of the quantized one, and with these layers in float.
    double floats = 0, quantized = 0, reached = 0;
    bool is_enough = false;           // reached >= floats - max_drop
    std::vector<step> steps;          // in the order in which they were tried
    std::vector<std::string> layers;  // to be left in float, the most sensitive first

    /// The options to paste into the qconfig, one a line, with commas between.
    std::string options() const {
        std::string text;
        for (const std::string& layer : layers)
            text += (text.empty() ? "    zp::keep_float<\"" : ",\n    zp::keep_float<\"") + layer + "\">";
        return text;
    }
};

/// A network of which some layers are left in float, computed as the qconfig with keep_float for them would: their weights are floats,
/// and what they give is rounded where a layer in codes reads it. `is_float` says it of rows of the quantized network. A sum or function
/// that is a part of such a row will be a row in codes behind it, whose additional rounding is not in this network: measure again what the
/// qconfig gives.
template <class Net, class QConfig, class Arch>
void leave_in_float(simulated<Net, QConfig, Arch>& model, const std::vector<bool>& is_float) {
    const std::span<const node> rows = model.rows();
    std::vector<bool> has_coded_reader(rows.size());
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const bool reads_codes = rows[i].out.is_codes() && !is_float[i] && !rows[i].op->is_output;
        for (int k = 0; k != rows[i].input_count; ++k)
            if (reads_codes) has_coded_reader[static_cast<std::size_t>(rows[i].inputs[k])] = true;
    }
    for (const simulated_row& one : model.switches()) {
        const auto row = static_cast<std::size_t>(one.row);
        const bool rounds = !is_float[row] || has_coded_reader[row];
        model.set(one, rounds ? precision::as_converted : precision::float32, !is_float[row]);
    }
}

/// Leaves layers in float, the most sensitive first as `order` says (a report of zp::sensitivity of the same network), until
/// `metric(model)`, which is better the greater, is at most max_drop below that of the float network. A layer that makes it worse is not
/// kept. At most one call of metric a layer, and two more. Only layers with names can be selected by a qconfig; others stay as they are.
template <class Net, class QConfig, class Arch, class Metric>
fall_back_report fall_back(simulated<Net, QConfig, Arch> model, const sensitivity_report& order, Metric metric,
                           const fall_back_options& how = {}) {
    using float_stage = prepared_stage<Net, QConfig, Arch>;
    if (!(how.max_drop >= 0) || how.most < 0)
        raise<value_error>("fall_back: expected a max_drop and a number of layers of at least 0");
    fall_back_report result;
    model.disable_all();
    result.floats = static_cast<double>(metric(std::as_const(model)));
    model.enable_all();
    result.quantized = result.reached = static_cast<double>(metric(std::as_const(model)));
    const auto is_enough = [&] { return result.reached >= result.floats - how.max_drop; };
    std::vector<row_sensitivity> sorted = order.rows;
    std::stable_sort(sorted.begin(), sorted.end(), [](const row_sensitivity& a, const row_sensitivity& b) {
        return a.without != b.without ? a.without > b.without : a.alone < b.alone;
    });
    std::vector<bool> is_float(model.rows().size());
    for (const row_sensitivity& one : sorted) {
        if (is_enough() || static_cast<int>(result.layers.size()) >= how.most) break;
        const node& row = model.rows()[static_cast<std::size_t>(one.what.row)];
        const node& layer = float_stage::table.nodes[row.from.self];
        if (row.op->is_boundary || layer.name[0] == 0) continue;
        is_float[static_cast<std::size_t>(one.what.row)] = true;
        leave_in_float(model, is_float);
        fall_back_report::step step{layer.name, static_cast<double>(metric(std::as_const(model))), false};
        step.is_kept = step.metric >= result.reached;
        if (step.is_kept) {
            result.layers.push_back(step.layer);
            result.reached = step.metric;
        } else {
            is_float[static_cast<std::size_t>(one.what.row)] = false;
            leave_in_float(model, is_float);
        }
        result.steps.push_back(std::move(step));
    }
    result.is_enough = is_enough();
    return result;
}

/// The report as text: what was tried, and what to paste.
inline std::string to_string(const fall_back_report& report) {
    char line[160];
    std::snprintf(line, sizeof line, "%-28s %12.6g\n%-28s %12.6g\n", "float", report.floats, "quantized",
                  report.quantized);
    std::string text = line;
    for (const fall_back_report::step& one : report.steps) {
        std::snprintf(line, sizeof line, "%-28s %12.6g%s\n", ("+ " + one.layer).substr(0, 28).c_str(), one.metric,
                      one.is_kept ? "" : "  (no help: stays quantized)");
        text += line;
    }
    if (!report.is_enough)
        text += "not reached: the layers that are left in float do not bring the metric within what may be lost\n";
    if (!report.layers.empty()) text += "options of the qconfig:\n" + report.options() + "\n";
    return text;
}

}  // namespace zp::inline v0
