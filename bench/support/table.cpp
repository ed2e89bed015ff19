// SPDX-License-Identifier: BSD-3-Clause
// Prints one row a benchmark.
#include "table.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace bench {
namespace {

/// Three digits and a unit.
std::string text_of_time(double nanoseconds) {
    char text[32];
    const char* unit = "ns";
    for (const char* larger : {"us", "ms", "s"})
        if (nanoseconds >= 1000) nanoseconds /= 1000, unit = larger;
    std::snprintf(text, sizeof text, "%.*f %s", nanoseconds < 10 ? 2 : nanoseconds < 100 ? 1 : 0, nanoseconds, unit);
    return text;
}

}  // namespace

bool markdown_table::ReportContext(const Context&) {
    std::printf("| %-48s | %-7s | %11s | %11s | %5s | %6s | notes |\n", "", "time", "rate", "median", "peak", "share");
    std::printf("|%s|--:|--:|--:|--:|--:|---|\n", std::string(50, '-').c_str());
    return true;
}

void markdown_table::ReportRuns(const std::vector<Run>& runs) {
    for (const Run& run : runs) {
        const auto counter = [&](const char* name) {
            const auto found = run.counters.find(name);
            return found == run.counters.end() ? 0.0 : found->second.value;
        };
        const char* unit = counter("GB/s") > 0 ? "GB/s" : "GOPS";
        std::printf("| %-48s | %7s | %6.1f %s | %6.1f %s | %5.0f | %5.1f%% | %s |\n",
                    run.run_name.function_name.c_str(), text_of_time(counter("best_ns")).c_str(), counter(unit), unit,
                    counter("median"), unit, counter("peak"), counter("peak_%"), run.report_label.c_str());
        std::fflush(stdout);
    }
}

}  // namespace bench
