// What the demo finds out about one way of running the network.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/workflow/calibration_report.hpp>

/// The signal to quantization noise ratio of one activation, in dB: 6 dB are one bit.
struct layer_sqnr {
    std::string layer;
    double decibel;
};

/// The float network, or one of its int8 forms. Percentages are of the test images.
struct outcome {
    std::string name;
    double accuracy = 0;      // percent
    double agreement = 100;   // percent: the same digit as the float network, right or wrong
    std::size_t file_bytes = 0;
    int parameter_bytes = 0;  // as it runs: packed, with its tables
    int arena_bytes = 0;      // working memory of one call
    double microseconds = 0;  // an image
    bool reloaded_identical = true;
    std::vector<layer_sqnr> layers;
    zp::calibration_report calibration;
};

/// What the demo checks; its exit status says whether all were kept.
struct promise {
    std::string text, found;
    bool kept;
};

// All of them take the float network's outcome first.
void print_outcomes(std::span<const outcome> all);
void print_calibration(const outcome& one);
void print_layers(std::span<const outcome> all);
void print_promises(std::span<const promise> all);
void write_json(const std::string& path, std::span<const outcome> outcomes, std::span<const promise> promises);
