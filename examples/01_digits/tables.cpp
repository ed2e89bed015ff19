// SPDX-License-Identifier: BSD-3-Clause
// The demo's results for people.
#include <algorithm>
#include <cstdio>

#include "digits_data.hpp"
#include "outcome.hpp"

namespace {

void print_outcomes(std::span<const outcome> all) {
    const outcome& floats = all.front();
    std::printf(" #  %-22s %9s %9s %10s %9s %6s %11s %8s %10s  %s\n", "network", "accuracy", "to float", "same digit",
                "file", "ratio", "parameters", "arena", "per image", "reloaded");
    for (std::size_t i = 0; i != all.size(); ++i) {
        const outcome& one = all[i];
        const double ratio = static_cast<double>(one.file_bytes) / static_cast<double>(floats.file_bytes);
        std::printf("%2zu  %-22s %7.2f %% %+9.2f %8.2f %% %6.1f kB %6.3f %8.1f kB %5.1f kB %7.1f us", i,
                    one.name.c_str(), one.accuracy, one.accuracy - floats.accuracy,
                    percent_equal(one.read, floats.read), static_cast<double>(one.file_bytes) / 1e3, ratio,
                    one.parameter_bytes / 1e3, one.arena_bytes / 1e3, one.microseconds);
        if (i != 0) std::printf("  %s", one.reloaded_identical ? "identical" : "DIFFERS");
        std::puts("");
    }
}

void print_layers(std::span<const outcome> int8) {
    std::printf("%-22s", "activation");
    for (std::size_t i = 0; i != int8.size(); ++i) std::printf("     #%zu", i + 1);
    std::puts("");
    // A qconfig that merges a convolution with the sum behind it has no activation between them.
    const auto& most = *std::max_element(
        int8.begin(), int8.end(), [](const outcome& a, const outcome& b) { return a.layers.size() < b.layers.size(); });
    for (const layer_sqnr& row : most.layers) {
        std::printf("%-22s", row.layer.c_str());
        for (const outcome& one : int8) {
            const auto found = std::find_if(one.layers.begin(), one.layers.end(),
                                            [&](const layer_sqnr& other) { return other.layer == row.layer; });
            if (found == one.layers.end()) std::printf(" %6s", "-");
            else std::printf(" %6.1f", found->decibel);
        }
        std::puts("");
    }
}

}  // namespace

void print_tables(std::span<const outcome> all, std::span<const promise> promises) {
    print_outcomes(all);
    for (const outcome& one : all)
        if (one.name == recommended_qconfig)
            std::printf("\nWhat calibration saw, under %s:\n\n%s", one.name.c_str(),
                        zp::to_string(one.calibration).c_str());
    std::printf("\nSignal to quantization noise over %zu test images, in dB (6 dB are one bit):\n\n", sqnr_images);
    print_layers(all.subspan(1));
    std::puts("\nPromises:\n");
    for (const promise& one : promises)
        std::printf("%-7s %-50s %s\n", one.kept ? "kept" : "BROKEN", one.what.c_str(), one.found.c_str());
}
