// SPDX-License-Identifier: BSD-3-Clause
// Softmax of codes: exponentials from a table, their exact sum, and one factor a row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/normalize/fixed_point_exponential.hpp>
#include <zeropoint/kernel/reduction/code_moments.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>

namespace zp::inline v0::kernel {

/// Entries of a table of exponentials.
inline constexpr int softmax_table_size = 256;

/// Fills table[256] for inputs of a scale: table[i] = rne(exp(-(255 - i) * x_scale) * 2^30), made of integers alone, so
/// that a table that is made when a model is loaded is the same everywhere. The code x of a row whose largest code is
/// `max` has entry 255 + x - max: a row reads one run of the table, upwards. x_scale is a finite number above zero.
constexpr void make_softmax_table(float x_scale, std::int32_t* table) {
    for (int i = 0; i != softmax_table_size; ++i)
        table[i] = fixed_point_exponential(x_scale, softmax_table_size - 1 - i);
}

/// The largest of `count` codes; count > 0.
template <class Arch, code8 T> T largest_code(const T* x, std::size_t count) noexcept {
    if constexpr (has_vectors<Arch>) {
        using codes = xsimd::batch<T, Arch>;
        if (count >= codes::size) {
            codes best = codes::load_unaligned(x);
            for_each_overlapping(count, codes::size,
                                 [&](std::size_t i) { best = xsimd::max(best, codes::load_unaligned(x + i)); });
            std::array<T, codes::size> lanes;
            best.store_unaligned(lanes.data());
            return *std::max_element(lanes.begin(), lanes.end());
        }
    }
    return *std::max_element(x, x + count);
}

/// The run of a table that a row reads, and the sum of its exponentials: the code x has run[distance_from_lowest(x)].
struct exponential_run {
    const std::int32_t* run;
    int largest;  ///< distance_from_lowest() of the row's largest code: the last entry of the run
    std::int64_t sum;
};

/// Looks up the exponentials of a row; `each(i, exponential)` sees them all.
template <class Arch, code8 T, class Each>
[[gnu::always_inline]] inline exponential_run sum_exponentials(const T* x, std::size_t count, const std::int32_t* table,
                                                               Each&& each) noexcept {
    const int largest = distance_from_lowest(largest_code<Arch>(x, count));
    const std::int32_t* run = table + (softmax_table_size - 1 - largest);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i != count; ++i) {
        const std::int32_t exponential = run[distance_from_lowest(x[i])];
        each(i, exponential);
        sum += exponential;
    }
    return {run, largest, sum};
}

/// y[i] = rne(clamp(float(exponentials[i]) * factor, min - z, max - z)) + z. `count` is a multiple of vector_size<Y,
/// Arch>.
template <class Arch, code8 Y>
[[gnu::always_inline]] inline void scale_exponentials(const std::int32_t* exponentials, std::size_t count, float factor,
                                                      const code_range& range, Y* y) noexcept {
    const auto scaled = [=](const auto& exponential, std::size_t) __attribute__((always_inline)) {
        return range.nearest(float_of(exponential) * factor);
    };
    map_in_order<Arch>(exponentials, count, y, scaled);
}

/// Softmax over each of `rows` rows of `channels` codes, of one scale (any zero point), onto codes of scale y_scale:
///     e[i] = table[255 + x[i] - max(x)], sum = e[0] + e[1] + ..., factor = float(1 / (double(sum) * y_scale))
///     y[i] = rne(clamp(float(e[i]) * factor, min - z, max - z)) + z
/// `table` is make_softmax_table's; channels > 0; codes.table is not used; y may be x. PyTorch's and TFLite's output is
/// y_scale = 1 / 256 with the lowest code as zero point.
///
/// Let p be the exact softmax. |y - clamp(p / y_scale + z)| <= 1/2 + channels * 2^-30 / y_scale + 255 * 3.1 * 2^-24:
/// with the scale 1 / 256 that is 0.50005 codes and 2^-22 for each channel. Proof: in units of 2^30 an entry is off by
/// less than h = 2^-30, the largest is exactly 1, and so s, the exact sum, and the sum of entries S are at least 1.
/// With the errors d of one entry and D of the sum, e / S - p = (d - p * D) / S. Here p <= 1 and |D| <= (channels - 1)
/// * h, thus |e / S - p| <= channels * h. The floats e and factor and their product are each within 2^-24 of
/// themselves; what is clamped is at most 255 codes; a sum below 2^53 is an exact double. The rounding adds its half.
template <class Arch, code8 X, code8 Y>
void softmax(const X* x, std::size_t rows, std::size_t channels, const std::int32_t* table, float y_scale,
             const output_codes& codes, Y* y) noexcept {
    const auto factor_of = [=](std::int64_t sum) {
        return static_cast<float>(1 / (static_cast<double>(sum) * double{y_scale}));
    };
    constexpr std::size_t step = vector_size<Y, Arch>;
    const auto whole_vectors = [](std::size_t count) { return (count + step - 1) / step * step; };
    static_assert(softmax_table_size % step == 0);
    const code_range range(codes.min, codes.max, codes.zero_point);
    std::array<std::int32_t, softmax_table_size> exponentials{};
    std::array<Y, softmax_table_size> scaled{};
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels) {
        if (channels <= softmax_table_size) {
            const exponential_run found = sum_exponentials<Arch>(
                x, channels, table, [&](std::size_t i, std::int32_t exponential) { exponentials[i] = exponential; });
            scale_exponentials<Arch>(exponentials.data(), whole_vectors(channels), factor_of(found.sum), range,
                                     scaled.data());
            std::copy_n(scaled.data(), channels, y);
        } else {  // fewer exponentials than codes: scaled once each, and then looked up
            const exponential_run found = sum_exponentials<Arch>(x, channels, table, [](std::size_t, std::int32_t) {});
            const auto entries = static_cast<std::size_t>(found.largest) + 1;
            std::copy_n(found.run, entries, exponentials.data());
            scale_exponentials<Arch>(exponentials.data(), whole_vectors(entries), factor_of(found.sum), range,
                                     scaled.data());
            lookup_table<Arch>(x, channels, scaled.data(), y);
        }
    }
}

/// What log_softmax() needs beside the table: make_log_softmax_parameters() computes it.
struct log_softmax_parameters {
    std::int32_t multiplier = 0;  ///< x_scale / y_scale * 2^shift, below 2^22
    int shift = 20;               ///< in [11, 20]
    double log2_factor = 0;       ///< what a unit of fixed_point_log2() is on the grid of the multiplier
    constexpr bool operator==(const log_softmax_parameters&) const = default;
};

/// Parameters for finite scales above zero. The multiplier has 22 bits, or fewer where x_scale is below twice y_scale.
/// A ratio of scales above 1024 counts as 1024: every code but the largest is then below the output's range.
constexpr log_softmax_parameters make_log_softmax_parameters(float x_scale, float y_scale) {
    const double quotient = double{x_scale} / y_scale, ratio = quotient > 1024 ? 1024 : quotient;
    int shift = 20;
    while (ratio * static_cast<double>(1 << shift) >= 0x1p22) --shift;
    const double power = static_cast<double>(1 << shift);
    constexpr double ln2 = 0.69314718055994530942;
    return {static_cast<std::int32_t>(round_half_even(ratio * power)), shift,
            ln2 / (double{y_scale} * static_cast<double>(1 << log2_bits)) * power};
}

/// Logarithm of softmax over each of `rows` rows of `channels` codes, onto codes of a scale y_scale:
///     L = rne(min((fixed_point_log2(sum) - 30 * 2^26) * log2_factor, 2^30)), sum as in softmax()
///     y[i] = clamp(rne((multiplier * (x[i] - max(x)) - L) / 2^shift) + z, min, max)
/// in integers but for one product of doubles a row, ties to even. channels > 0; codes.table is not used; y may be x.
/// TFLite's output is y_scale = 16 / 256 with 127 as zero point.
///
/// Let l be the exact logarithm. |y - clamp(l / y_scale + z)| <= 1/2 + 2^-11 + (channels * 2^-30 + 2^-25) / y_scale.
/// Proof: the sum is within channels * 2^-30 of itself (softmax), and so its logarithm; fixed_point_log2 is at most 1.2
/// * 2^-26 off, times ln 2. The multiplier is off by 1/2: with a shift of 20 by 255 / 2^21 < 2^-13 codes; with a
/// smaller one, where it is at least 2^21, less than 2^-13 too, as no more than 256 * 2^shift / multiplier steps lie
/// within the codes. L is rounded by 1/2 / 2^11 at most, and bounded where the result lies 2^10 codes below the range,
/// or more.
template <class Arch, code8 X, code8 Y>
void log_softmax(const X* x, std::size_t rows, std::size_t channels, const std::int32_t* table,
                 const log_softmax_parameters& p, const output_codes& codes, Y* y) noexcept {
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels) {
        const exponential_run found = sum_exponentials<Arch>(x, channels, table, [](std::size_t, std::int32_t) {});
        const std::int64_t logarithm =
            fixed_point_log2(static_cast<std::uint64_t>(found.sum)) - (std::int64_t{exponential_bits} << log2_bits);
        const auto subtrahend = static_cast<std::int32_t>(
            round_half_even(std::min(static_cast<double>(logarithm) * p.log2_factor, 0x1p30)));
        const std::int32_t largest = found.largest + std::numeric_limits<X>::min();
        const auto logarithms = [ =, zero_point = codes.zero_point, low = codes.min,
                                  high = codes.max ](const auto& code) __attribute__((always_inline)) {
            const auto steps = (code - largest) * p.multiplier - subtrahend;
            return clamp_number(shift_number(steps, p.shift) + zero_point, low, high);
        };
        map_codes<Arch>(channels, y, logarithms, x);
    }
}

}  // namespace zp::inline v0::kernel
