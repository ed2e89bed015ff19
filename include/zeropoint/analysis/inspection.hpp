// SPDX-License-Identifier: BSD-3-Clause
// Everything there is to say about a quantized network beside its float one, as one value: for a terminal, and as the JSON that
// `zeropoint report` makes a page of.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <zeropoint/analysis/advice.hpp>
#include <zeropoint/analysis/compare.hpp>
#include <zeropoint/analysis/comparison_files.hpp>
#include <zeropoint/analysis/sensitivity.hpp>
#include <zeropoint/workflow/calibration_report.hpp>

namespace zp::inline v0 {

/// All that a report shows of a quantized network: see zp::inspect.
struct inspection {
    model_table table;                              // of the quantized network
    std::int64_t float_parameter_bytes = 0;         // parameters of the float network, for the ratio
    comparison whole, alone;                        // by whole_networks and by each_row
    std::optional<sensitivity_report> sensitivity;  // where it was asked for
    calibration_report calibration;                 // what calibration saw
    std::vector<zp::advice> advice;                 // what to try next, the most promising first
};

/// Compares both networks row by row, and says what stands out. `batches` is what zp::calibrate takes, and is gone through twice.
/// A sweep of zp::sensitivity may be put beside it.
template <class Net, class QConfig, class Arch, class Batches>
inspection inspect(const calibrated<Net, QConfig, Arch>& floats,
                   const network<stage<quantized_nodes<Net, QConfig, Arch>>>& int8, const Batches& batches) {
    inspection all;
    all.table = table_of(int8);
    all.float_parameter_bytes = calibrated<Net, QConfig, Arch>::parameter_bytes;
    all.whole = compare(floats, int8, batches);
    all.alone = compare(floats, int8, batches, comparison_mode::each_row);
    all.calibration = report(floats);
    all.advice = advise(all.whole, all.alone);
    return all;
}

namespace detail {
inline void add_table(json_writer& json, const model_table& table) {
    json.open_object();
    json.member("parameter_bytes", table.parameter_bytes);
    json.member("arena_bytes", table.arena_bytes);
    json.member("macs", table.macs);
    json.rows("rows", table.rows, [&](const model_table_row& row) {
        json.member("name", row.name);
        json.member("operation", row.operation);
        json.array("inputs", row.inputs);
        json.array("extents", std::vector<int>{row.out.depth, row.out.height, row.out.width, row.out.channels});
        json.member("storage", zp::name_of(row.type));
        json.member("macs", row.macs);
        json.member("parameter_bytes", row.parameter_bytes);
        json.member("is_boundary", row.is_boundary);
    });
    json.close_object();
}
}  // namespace detail

/// All of it: docs/inspection.md has the keys. `name` and `qconfig` are what the page calls them.
template <std::same_as<inspection> Inspection>
std::string to_json(const Inspection& all, const std::string& name = {}, const std::string& qconfig = {}) {
    json_writer json;
    json.open_object();
    json.member("format", "zeropoint.inspection");
    json.member("version", 1);
    json.member("network", name);
    json.member("qconfig", qconfig);
    json.member("float_parameter_bytes", all.float_parameter_bytes);
    json.key("table");
    detail::add_table(json, all.table);
    json.key("whole");
    detail::add_comparison(json, all.whole);
    json.key("alone");
    detail::add_comparison(json, all.alone);
    json.key("sensitivity");
    if (all.sensitivity) detail::add_sensitivity(json, *all.sensitivity);
    else json.null();
    json.object("calibration", [&] {
        json.member("inputs", all.calibration.samples);
        json.array("warnings", all.calibration.warnings);
    });
    json.rows("advice", all.advice, [&](const advice& one) {
        json.member("row", one.row);
        json.member("name", one.name);
        json.member("finding", one.finding);
        json.member("remedy", one.remedy);
    });
    json.close_object();
    return json.text() + "\n";
}

/// For a terminal: both comparisons, the worst rows first, the sweep, what to try.
template <std::same_as<inspection> Inspection> std::string to_string(const Inspection& all) {
    std::string text = to_string(all.whole, all.whole.worst()) + "\n" + to_string(all.alone, all.alone.worst());
    if (all.sensitivity) text += "\n" + to_string(*all.sensitivity);
    for (const std::string& warning : all.calibration.warnings) text += "\nwarning: " + warning;
    text += all.advice.empty() ? "\nnothing stands out\n" : "\nwhat to try next\n";
    for (const advice& one : all.advice) text += "- " + one.finding + "\n  " + one.remedy + "\n";
    return text;
}

}  // namespace zp::inline v0
