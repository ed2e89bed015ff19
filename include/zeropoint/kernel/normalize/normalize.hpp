// SPDX-License-Identifier: BSD-3-Clause
// Normalization of codes: over rows, over groups of channels, and by the statistics of training.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/reduction/code_moments.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// All of them are one formula,
//     y = rne(clamp(float(count * x - sum) * (factor * gain) + offset, min - z, max - z)) + z
// where count * x - sum, x being a code, is count times its distance from the mean of `count` codes, an exact integer.
// The factor is 1 / sqrt(count^2 * (variance of the codes) + epsilon * (count / x_scale)^2); gain = weight / y_scale
// and offset = bias / y_scale are computed once. No product is contracted with a sum, so every architecture has the
// same codes.
//
// Let P be the product and Q the result of the formula in real numbers, before rounding. The floats of factor, gain,
// their product, the integer and the last product are each within 2^-24 of themselves (and the factor's double within
// 2^-50), offset and sum likewise: before its rounding y is within (5 |P| + |offset| + |P + offset|) * 1.001 * 2^-24 of
// Q. Without an offset that is less than 10^-4 codes wherever Q lies within the codes.

namespace zp::inline v0::kernel {

/// The most codes of one scale that are normalized together: differences from the mean, times their number, fit 32
/// bits.
inline constexpr std::size_t most_normalized = std::size_t{1} << 23;

/// How many codes are normalized together, and what epsilon is on their grid: make_normalization() computes it.
struct normalization {
    std::int32_t count = 1;
    double epsilon = 0;  ///< epsilon * count^2 / x_scale^2
    constexpr bool operator==(const normalization&) const = default;
};

/// `count` codes of x_scale, and the epsilon that is added to their variance (0 is allowed). Raises value_error.
inline normalization make_normalization(std::size_t count, float x_scale, float epsilon) {
    if (count == 0 || count > most_normalized)
        raise<value_error>("normalize: 1 to 2^23 values are normalized together, not " + std::to_string(count));
    require_scales("normalize", {x_scale});
    if (!(epsilon >= 0 && epsilon < infinity))
        raise<value_error>("normalize: epsilon must be a finite number from zero on, not " + std::to_string(epsilon));
    const double steps = static_cast<double>(count) / double{x_scale};
    return {static_cast<std::int32_t>(count), steps * steps * double{epsilon}};
}

/// numbers[c] = values[c] / scale for `count` values; `otherwise` / scale where `values` is null. Raises value_error
/// where that is not finite.
inline void divide_by_scale(const float* values, std::size_t count, float otherwise, float scale, float* numbers) {
    for (std::size_t c = 0; c != count; ++c) {
        const double value = values == nullptr ? double{otherwise} : double{values[c]};
        numbers[c] = static_cast<float>(value / double{scale});
        if (!(std::abs(numbers[c]) < infinity))
            raise<value_error>("normalize: " + std::to_string(value) + " / " + std::to_string(scale) +
                               " does not fit a float: calibrate the output's range on its own values");
    }
}

/// 1 / sqrt(count * squares - sum^2 + epsilon); 0 where all codes are equal, and so their mean. What is under the root
/// is else at least 1, which bounds the factor by 1. IEEE 754 fixes the bits of the square root and of the quotient.
template <class Arch> float reciprocal_deviation(const code_sums& sums, const normalization& n) noexcept {
    const std::int64_t spread = n.count * sums.squares - sums.sum * sums.sum;  // below 2^62
    if (spread == 0) return 0;
    return static_cast<float>(1 / std::sqrt(static_cast<double>(spread) + rounded(n.epsilon)));
}

/// The sum of the codes of T themselves.
template <code8 T> constexpr std::int32_t sum_of_codes(const code_sums& sums, std::int32_t count) {
    return static_cast<std::int32_t>(sums.sum + std::int64_t{count} * std::numeric_limits<T>::min());
}

/// One number for all channels, or an array with one for each: those from channel i on.
template <class Number, class Values>
[[gnu::always_inline]] inline Number number_at(const Values& values, std::size_t i) noexcept {
    if constexpr (std::is_pointer_v<Values>) return load_number<Number>(values + i);
    else return Number(values);
}

/// The formula above for `channels` consecutive codes. `sum` and `factor` are one number or an array. y may be x.
template <class Arch, code8 X, code8 Y, class Sum, class Factor>
[[gnu::always_inline]] inline void normalize_codes(const X* x, std::size_t channels, std::int32_t count, Sum sum,
                                                   Factor factor, const float* gains, const float* offsets,
                                                   const output_codes& codes, Y* y) noexcept {
    const code_range range(codes.min, codes.max, codes.zero_point);
    const auto normalized = [=](const auto& code, std::size_t c) __attribute__((always_inline)) {
        const auto distance = float_of(code * count - number_at<std::remove_cvref_t<decltype(code)>>(sum, c));
        using Number = std::remove_const_t<decltype(distance)>;
        const Number gain = number_at<Number>(factor, c) * load_number<Number>(gains + c);
        return range.nearest(Number(rounded(Number(distance * gain)) + load_number<Number>(offsets + c)));
    };
    map_in_order<ieee_vectors<Arch>>(x, channels, y, normalized);
}

/// normalize_codes() for `rows` rows of `channels` codes, each `stride` behind the one before it.
template <class Arch, code8 X, code8 Y, class Sum, class Factor>
[[gnu::always_inline]] inline void normalize_rows(const X* x, std::size_t rows, std::size_t stride,
                                                  std::size_t channels, std::int32_t count, Sum sum, Factor factor,
                                                  const float* gains, const float* offsets, const output_codes& codes,
                                                  Y* y) noexcept {
    with_fitting_vectors<Arch, X>(channels, [=, &codes]<class Fitting>() noexcept {
        for (std::size_t row = 0; row != rows; ++row)
            normalize_codes<Fitting>(x + row * stride, channels, count, sum, factor, gains, offsets, codes,
                                     y + row * stride);
    });
}

/// Layer normalization of each of `rows` rows of n.count codes, `gains` and `offsets` having as many numbers: y = (x -
/// mean) / sqrt(variance + epsilon) * weight + bias, the variance being that of the row (divided by the count). Formula
/// and error above; codes.table is not used; y may be x. A row is the channels of a pixel, or a whole image.
template <class Arch, code8 X, code8 Y>
void layer_norm(const X* x, std::size_t rows, const normalization& n, const float* gains, const float* offsets,
                const output_codes& codes, Y* y) noexcept {
    const auto channels = static_cast<std::size_t>(n.count);
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels) {
        const code_sums sums = sum_codes<Arch>(x, channels);
        normalize_rows<Arch>(x, 1, 0, channels, n.count, sum_of_codes<X>(sums, n.count),
                             reciprocal_deviation<Arch>(sums, n), gains, offsets, codes, y);
    }
}

/// The same about x_zero_point in place of the mean: 1 / sqrt(count * (sum of squared distances from it) + epsilon).
template <class Arch, code8 T>
float reciprocal_root_mean_square(const code_sums& sums, std::int32_t x_zero_point, const normalization& n) noexcept {
    const std::int64_t zero = std::int64_t{x_zero_point} - std::numeric_limits<T>::min();
    const std::int64_t squares = sums.squares - 2 * zero * sums.sum + n.count * zero * zero;
    if (squares == 0) return 0;
    return static_cast<float>(1 / std::sqrt(static_cast<double>(n.count * squares) + rounded(n.epsilon)));
}

/// Root mean square normalization (Zhang 2019) of each of `rows` rows of n.count codes: y = x / sqrt(mean of x^2 + epsilon) *
/// weight. It is layer_norm() with the code of zero where that has the mean: the same formula and error. `offsets` are zeros.
template <class Arch, code8 X, code8 Y>
void rms_norm(const X* x, std::size_t rows, const normalization& n, std::int32_t x_zero_point, const float* gains,
              const float* offsets, const output_codes& codes, Y* y) noexcept {
    const auto channels = static_cast<std::size_t>(n.count);
    for (std::size_t row = 0; row != rows; ++row, x += channels, y += channels) {
        const code_sums sums = sum_codes<Arch>(x, channels);
        normalize_rows<Arch>(x, 1, 0, channels, n.count, n.count * x_zero_point,
                             reciprocal_root_mean_square<Arch, X>(sums, x_zero_point, n), gains, offsets, codes, y);
    }
}

/// Group normalization of one image of `pixels` x `channels` codes, of which the channels form `groups` groups of equal
/// size; n.count = pixels * channels / groups. As layer_norm() over the pixels and channels of a group, `gains` and
/// `offsets` having a number for each channel. With as many groups as channels it is instance normalization.
template <class Arch, code8 X, code8 Y>
void group_norm(const X* x, std::size_t pixels, std::size_t channels, std::size_t groups, const normalization& n,
                const float* gains, const float* offsets, const output_codes& codes, Y* y) noexcept {
    constexpr std::size_t most = 64;                                    // channels and groups that are held at a time
    const std::size_t size = channels / groups;                         // of a group
    const std::size_t span = size <= most ? most / size * size : size;  // whole groups
    for (std::size_t first = 0; first < channels; first += span) {
        const std::size_t last = std::min(first + span, channels);
        const auto for_each_block = [=](auto&& body) {
            for (std::size_t block = first; block < last; block += most) body(block, std::min(most, last - block));
        };
        std::array<code_sums, most> of_group{};
        for_each_block([&](std::size_t block, std::size_t width) {
            std::array<code_sums, most> of_channel;
            sum_codes_of_channels<Arch>(x + block, pixels, channels, width, of_channel.data());
            for (std::size_t c = 0; c != width; ++c) of_group[(block - first + c) / size] += of_channel[c];
        });
        std::array<std::int32_t, most> group_sum;
        std::array<float, most> group_factor;
        for (std::size_t group = 0; group != (last - first) / size; ++group) {
            group_sum[group] = sum_of_codes<X>(of_group[group], n.count);
            group_factor[group] = reciprocal_deviation<Arch>(of_group[group], n);
        }
        for_each_block([&](std::size_t block, std::size_t width) {
            std::array<std::int32_t, most> sum;
            std::array<float, most> factor;
            for (std::size_t c = 0; c != width; ++c) {
                sum[c] = group_sum[(block - first + c) / size];
                factor[c] = group_factor[(block - first + c) / size];
            }
            normalize_rows<Arch>(x + block, pixels, channels, width, n.count, sum.data(), factor.data(), gains + block,
                                 offsets + block, codes, y + block);
        });
    }
}

/// What batch_norm() multiplies a channel with and adds to it, on the output's grid: gain = gamma / sqrt(variance +
/// epsilon) * x_scale / y_scale, offset = (beta - mean * gamma / sqrt(variance + epsilon)) / y_scale, in double, each
/// rounded once to float; gamma and beta may be null: 1 and 0. Raises value_error where a result is not finite.
template <class Arch>
void make_batch_norm(std::size_t channels, const float* gamma, const float* beta, const float* mean,
                     const float* variance, float epsilon, float x_scale, float y_scale, float* gains, float* offsets) {
    for (std::size_t c = 0; c != channels; ++c) {
        const double factor =
            (gamma == nullptr ? 1.0 : double{gamma[c]}) / std::sqrt(double{variance[c]} + double{epsilon});
        gains[c] = static_cast<float>(factor * double{x_scale} / double{y_scale});
        const double moved = rounded(double{mean[c]} * factor);
        offsets[c] = static_cast<float>(((beta == nullptr ? 0.0 : double{beta[c]}) - moved) / double{y_scale});
        if (!(std::abs(gains[c]) < infinity && std::abs(offsets[c]) < infinity))
            raise<value_error>("batch_norm: channel " + std::to_string(c) +
                               " has a factor or an offset that is not a finite number of the output's steps");
    }
}

/// Batch normalization of `pixels` x `channels` codes by the statistics of training: y = rne(clamp(float(x -
/// x_zero_point) * gains[c] + offsets[c], min - z, max - z)) + z, the formula above with a count and a factor of 1; P
/// is then within 3 * 2^-24 of itself. A fused relu or clamp only narrows [min, max]; codes.table is not used; y may be
/// x.
template <class Arch, code8 X, code8 Y>
void batch_norm(const X* x, std::size_t pixels, std::size_t channels, std::int32_t x_zero_point, const float* gains,
                const float* offsets, const output_codes& codes, Y* y) noexcept {
    normalize_rows<Arch>(x, pixels, channels, channels, 1, x_zero_point, 1.0f, gains, offsets, codes, y);
}

}  // namespace zp::inline v0::kernel
