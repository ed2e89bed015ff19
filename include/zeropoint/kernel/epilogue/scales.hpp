// SPDX-License-Identifier: BSD-3-Clause
// What kernels on codes ask of scales, and the fixed-point form of two of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>

namespace zp::inline v0::kernel {

/// Raises value_error where one of the scales is not a finite number above zero.
constexpr void require_scales(const char* kernel, std::initializer_list<float> scales) {
    for (const float scale : scales)
        if (!(scale > 0 && scale < infinity))
            raise<value_error>(std::string(kernel) + ": a scale must be a finite number above zero, not " +
                               std::to_string(scale));
}

/// A multiplier as a float. Raises value_error where none holds it; `formula` says how it was made.
constexpr float require_float(const char* kernel, const char* formula, double multiplier) {
    if (!(multiplier <= double{std::numeric_limits<float>::max()}))
        raise<value_error>(std::string(kernel) + ": " + formula + " is " + std::to_string(multiplier) +
                           ", and must fit a float: calibrate the output's range on its own values");
    return static_cast<float>(multiplier);
}

/// a_scale / y_scale and b_scale / y_scale, times 2^shift.
struct aligned_scales {
    std::int32_t a_multiplier, b_multiplier;
    int shift;
};

/// With r = double(a_scale) / y_scale and likewise for b, the shift is the one that brings the larger r * 2^shift into
/// [2^bits, 2^(bits + 1)), at most `most`, and the multipliers are rne(r * 2^shift): at most 2^(bits + 1), since a ratio just
/// below a power of two may round up to it. Raises value_error where a scale is not a finite number above zero, or an
/// operand's is 2^21 times the output's or more.
constexpr aligned_scales align_scales(float a_scale, float b_scale, float y_scale, int bits, int most) {
    require_scales("add", {a_scale, b_scale, y_scale});
    const double a_ratio = double{a_scale} / y_scale, b_ratio = double{b_scale} / y_scale;
    const double larger = std::max(a_ratio, b_ratio);
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(larger) >> 52) - 1023;
    if (exponent > 20)
        raise<value_error>(
            "add: an operand's scale is " + std::to_string(larger) +
            " times the output's, and must be below 2^21 times: calibrate the output's range on its own values");
    const int shift = std::min(bits - exponent, most);
    const double power = static_cast<double>(std::int64_t{1} << shift);
    return {static_cast<std::int32_t>(round_half_even(a_ratio * power)),
            static_cast<std::int32_t>(round_half_even(b_ratio * power)), shift};
}

}  // namespace zp::inline v0::kernel
