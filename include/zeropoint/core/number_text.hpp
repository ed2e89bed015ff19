// SPDX-License-Identifier: BSD-3-Clause
// A floating-point number as an error message says it.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace zp::inline v0 {
namespace detail {

/// With so many digits behind the point.
[[gnu::cold]] inline std::string fixed_text(int digits, double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", digits, x);
    return text;
}
/// With so many digits in all.
[[gnu::cold]] inline std::string figure(int digits, double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", digits, x);
    return text;
}

/// Not std::to_chars: where nothing else calls it, that brings 100 kB of tables.
[[gnu::cold]] inline std::string shortest_text(double x, bool is_float) {
    if (x != x) return "nan";
    char text[32];
    const int most = is_float ? std::numeric_limits<float>::max_digits10 : std::numeric_limits<double>::max_digits10;
    for (int digits = 1; digits <= most; ++digits) {
        std::snprintf(text, sizeof text, "%.*g", digits, x);
        const double read = std::strtod(text, nullptr);
        if (is_float ? static_cast<float>(read) == static_cast<float>(x) : read == x) break;
    }
    std::string result = text;
    std::replace(result.begin(), result.end(), ',', '.');  // the decimal point of some locales
    return result;
}

}  // namespace detail

/// "0.1", "-1e-30", "inf", "nan": a number in as few digits as tell it from its neighbours.
inline std::string number_text(float x) { return detail::shortest_text(double{x}, true); }
inline std::string number_text(double x) { return detail::shortest_text(x, false); }

}  // namespace zp::inline v0
