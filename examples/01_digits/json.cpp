// SPDX-License-Identifier: BSD-3-Clause
// The demo's results for programs.
#include <fstream>

#include <nlohmann/json.hpp>

#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>

#include "digits_data.hpp"
#include "outcome.hpp"

namespace {

using nlohmann::ordered_json;

ordered_json to_json(const zp::activation_report& seen) {
    return {{"name", seen.name},
            {"samples", seen.samples},
            {"min", seen.min},
            {"max", seen.max},
            {"scale", seen.range.scale},
            {"zero_point", seen.range.zero_point},
            {"quantized_min", seen.quantized_min},
            {"quantized_max", seen.quantized_max},
            {"clipped_share", seen.clipped_share},
            {"channels", seen.channels},
            {"constant_channels", seen.constant_channels},
            {"dead_channels", seen.dead_channels}};
}

ordered_json to_json(const outcome& one, const outcome& floats) {
    ordered_json json{{"name", one.name},
                      {"accuracy_percent", one.accuracy},
                      {"difference_to_float", one.accuracy - floats.accuracy},
                      {"same_digit_as_float_percent", percent_equal(one.read, floats.read)},
                      {"file_bytes", one.file_bytes},
                      {"file_ratio", static_cast<double>(one.file_bytes) / static_cast<double>(floats.file_bytes)},
                      {"parameter_bytes", one.parameter_bytes},
                      {"arena_bytes", one.arena_bytes},
                      {"microseconds_per_image", one.microseconds}};
    if (one.layers.empty()) return json;
    json["reloaded_identical"] = one.reloaded_identical;
    for (const layer_sqnr& layer : one.layers) json["sqnr_decibel"][layer.layer] = layer.decibel;
    json["calibration"]["samples"] = one.calibration.samples;
    for (const zp::activation_report& seen : one.calibration.activations)
        json["calibration"]["activations"].push_back(to_json(seen));
    json["calibration"]["warnings"] = one.calibration.warnings;
    return json;
}

}  // namespace

void write_json(std::span<const outcome> all, std::span<const promise> promises, const std::string& path) {
    ordered_json json{{"architecture", zp::name_of<zp::default_architecture>()},
                      {"test_images", all.front().read.size()},
                      {"sqnr_images", sqnr_images}};
    for (const outcome& one : all) json["networks"].push_back(to_json(one, all.front()));
    for (const promise& one : promises)
        json["promises"].push_back({{"what", one.what}, {"found", one.found}, {"kept", one.kept}});
    std::ofstream file(path);
    file << json.dump(2) << '\n';
    if (!file.flush()) throw zp::file_error(path + ": cannot write the results there");
}
