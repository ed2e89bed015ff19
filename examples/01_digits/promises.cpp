// SPDX-License-Identifier: BSD-3-Clause
// What the demo promises of its network: it is a test, too.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "outcome.hpp"

namespace {
std::string number(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}
}  // namespace

std::vector<promise> check_promises(std::span<const outcome> all) {
    const outcome& floats = all.front();
    const std::span int8 = all.subspan(1);
    const auto recommended =
        std::find_if(int8.begin(), int8.end(), [](const outcome& one) { return one.name == recommended_qconfig; });
    const auto identical =
        std::count_if(int8.begin(), int8.end(), [](const outcome& one) { return one.reloaded_identical; });
    const auto smaller = [](const outcome& a, const outcome& b) { return a.file_bytes < b.file_bytes; };
    const auto largest = std::max_element(int8.begin(), int8.end(), smaller);
    const double difference = recommended->accuracy - floats.accuracy;
    const double ratio = static_cast<double>(largest->file_bytes) / static_cast<double>(floats.file_bytes);
    return {
        {"float32 reads at least 98 % right", number("%.2f %%", floats.accuracy), floats.accuracy >= 98},
        {recommended->name + " within 0.3 points of it", number("%+.2f points", difference),
         std::abs(difference) <= 0.3},
        {"int8 files at most 0.30 of the float file", number("%.3f", ratio), ratio <= 0.30},
        {"reloaded networks give the same integers",
         number("%.0f", static_cast<double>(identical)) + number(" of %.0f", static_cast<double>(int8.size())),
         identical == std::ssize(int8)},
    };
}
