// SPDX-License-Identifier: BSD-3-Clause
// Variances and standard deviations of NHWC images along any of their axes, which stay as extents of 1.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/kernel/reduction/code_moments.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

namespace zp::inline v0::kernel {

/// Which moment is asked for.
enum class moment : std::uint8_t { variance, standard_deviation };

/// The most codes of which a variance is taken: their number, times the sum of their squares, fits 62 bits.
inline constexpr int most_in_moment = 1 << 23;

/// What moments_along() needs: make_moment_parameters() computes it.
struct moment_parameters {
    double divisor = 1;  ///< count * (count - correction)
    double factor = 1;   ///< x_scale^2 / y_scale, or x_scale / y_scale
    std::int32_t count = 1;
    std::int32_t y_zero_point = 0, quant_min = 0, quant_max = 255;
    constexpr bool operator==(const moment_parameters&) const = default;
};

/// Of `count` codes of x_scale; `correction` is 1 for the unbiased variance of a sample, 0 for that of the values
/// themselves. A fused clamp only narrows [quant_min, quant_max]. Raises value_error where a scale is not a finite number
/// above zero, or count - correction not 1 to most_in_moment.
constexpr moment_parameters make_moment_parameters(moment which, int count, int correction, float x_scale,
                                                   float y_scale, std::int32_t y_zero_point, std::int32_t quant_min,
                                                   std::int32_t quant_max) {
    require_scales("variance", {x_scale, y_scale});
    if (correction < 0 || count <= correction || count > most_in_moment)
        raise<value_error>("variance: takes more values than its correction, at most 2^23, not " +
                           std::to_string(count));
    const double factor = which == moment::variance ? double{x_scale} * double{x_scale} : double{x_scale};
    return {double(count) * double(count - correction),
            factor / double{y_scale},
            count,
            y_zero_point,
            quant_min,
            quant_max};
}

/// The output code of exact sums: with q = (count * squares - sum^2) / (count * (count - correction)), the variance in
/// squared steps of x, rne(clamp(q * factor)) or rne(clamp(sqrt(q) * factor)), moved to the zero point. Each operation
/// is in double and rounds once: before the last rounding a result is within 2^-50 of itself, and a tie is one where the
/// factor is a power of two.
template <class Arch, moment Which>
[[gnu::always_inline]] inline std::int32_t code_of_moment(const code_sums& sums, const moment_parameters& p) noexcept {
    const std::int64_t spread = p.count * sums.squares - sums.sum * sums.sum;
    double steps = static_cast<double>(spread) / p.divisor;
    if constexpr (Which == moment::standard_deviation) steps = std::sqrt(steps);
    return code_of_steps(steps * p.factor, p);
}

/// y = the variance of x, or its square root, along each axis whose extent in `out` is 1, on the output's grid: exact
/// sums, and code_of_moment() once. `out` has the extents of `in` on all other axes. y may not be x.
template <class Arch, moment Which, code8 X, code8 Y>
void moments_along(const shape& in, const shape& out, const X* x, const moment_parameters& p, Y* y) noexcept {
    constexpr std::size_t most = 64;  // channels whose sums are held at a time
    const reduction_extents e(in, out);
    const auto channels = static_cast<std::size_t>(e.in.channels);
    for_each_fold(e, x, y, [&](const pool_window<X>& window, Y* to) {
        if (e.out.channels != e.in.channels) {
            code_sums sums;
            window.for_each_position([&](const X* from) { sums += sum_codes<Arch>(from, channels); });
            *to = static_cast<Y>(code_of_moment<Arch, Which>(sums, p));
            return;
        }
        // A column, a row, or the whole image: its pixels are at one distance from each other.
        const auto distance =
            static_cast<std::size_t>(window.columns.count == 1 ? window.row_distance : window.column_distance);
        for (std::size_t first = 0; first < channels; first += most) {
            std::array<code_sums, most> sums;
            const std::size_t run = std::min(most, channels - first);
            sum_codes_of_channels<Arch>(window.first + first, static_cast<std::size_t>(window.size()), distance, run,
                                        sums.data());
            for (std::size_t c = 0; c != run; ++c)
                to[first + c] = static_cast<Y>(code_of_moment<Arch, Which>(sums[c], p));
        }
    });
}

/// The same for floats: y = min(max(moment, low), high). The mean first, then the squares of the distances from it, in
/// double and in the order of rows, columns and channels, so they are the same on every architecture; a NaN stays one.
template <class Arch, moment Which>
void moments_along(const shape& in, const shape& out, int correction, float low, float high, const float* x,
                   float* y) noexcept {
    const reduction_extents e(in, out);
    for_each_fold(e, x, y, [&](const pool_window<float>& window, float* to) {
        const bool folds_channels = e.out.channels != e.in.channels;
        const int together = folds_channels ? e.in.channels : 1;
        const double count = double(window.size()) * together;
        for (int c = 0; c != e.out.channels; ++c) {
            const auto for_each_value = [&](auto&& body) {
                window.for_each_position([&](const float* from) {
                    for (int k = 0; k != together; ++k) body(double{from[c + k]});
                });
            };
            double sum = 0, squares = 0;
            for_each_value([&](double value) { sum += value; });
            const double mean = sum / count;
            for_each_value([&](double value) { squares += rounded((value - mean) * (value - mean)); });
            double result = squares / (count - correction);
            if constexpr (Which == moment::standard_deviation) result = std::sqrt(result);
            to[c] = bounded_value(static_cast<float>(result), low, high);
        }
    });
}

}  // namespace zp::inline v0::kernel
