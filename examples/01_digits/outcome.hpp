// SPDX-License-Identifier: BSD-3-Clause
// What the demo finds out, what it checks, and how it tells.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/workflow/calibration_report.hpp>

/// Signal to quantization noise of one activation over the first test images, in dB: 6 dB are one bit.
inline constexpr std::size_t sqnr_images = 200;
struct layer_sqnr {
    std::string layer;
    double decibel = 0;
};

/// The float network, or one of its int8 forms.
struct outcome {
    std::string name;
    std::vector<int> read;  // the digits it took the test images for
    double accuracy = 0;    // percent of them right
    std::size_t file_bytes = 0;
    int parameter_bytes = 0;  // as it runs: packed, with its tables
    int arena_bytes = 0;      // working memory of one call
    double microseconds = 0;  // an image
    // Of int8 forms only:
    bool reloaded_identical = true;
    std::vector<layer_sqnr> layers;
    zp::calibration_report calibration;
};

struct promise {
    std::string what, found;
    bool kept;
};

/// The qconfig that promises are made for.
inline constexpr const char* recommended_qconfig = "per_channel_histogram";

// In all of these the float network's outcome comes first.
std::vector<promise> check_promises(std::span<const outcome> all);
void print_tables(std::span<const outcome> all, std::span<const promise> promises);
void write_json(std::span<const outcome> all, std::span<const promise> promises, const std::string& path);
