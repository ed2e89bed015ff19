// SPDX-License-Identifier: BSD-3-Clause
// Vectors divided by their length: of codes, from exact sums of squares, and of floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/reduction/code_moments.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>

namespace zp::inline v0::kernel {

/// The square root of the sum of (x - x_zero_point)^2 over `count` codes; 1 where all of them are the zero point.
template <class Arch, code8 X>
[[gnu::always_inline]] inline float length_of_codes(const X* x, std::size_t count, std::int32_t x_zero_point) noexcept {
    const code_sums sums = sum_codes<Arch>(x, count);
    const std::int64_t zero = x_zero_point - std::numeric_limits<X>::min();
    const std::int64_t squares = sums.squares - 2 * zero * sums.sum + static_cast<std::int64_t>(count) * zero * zero;
    return squares == 0 ? 1.0f : static_cast<float>(std::sqrt(static_cast<double>(squares)));
}

/// y = x / sqrt(sum of x^2) over each of `pixels` runs of `channels` codes, whatever the scale of x; 0 for a run of zeros:
///     y = rne(clamp(float(x - x_zero_point) * steps / length, min - z, max - z)) + z,
/// where `steps` is 1 / y_scale and `length` is length_of_codes(). For the usual scale 1 / 128 the product is exact and
/// the quotient within 2^-23 of itself, so that y is within 0.5 + 2^-15 codes of the real result, and ties are ties,
/// because roots of squares are whole. codes.table is not used. y may be x.
template <class Arch, code8 X, code8 Y>
void l2_normalize(const X* x, std::size_t pixels, std::size_t channels, std::int32_t x_zero_point, float steps,
                  const output_codes& codes, Y* y) noexcept {
    const code_range range(codes.min, codes.max, codes.zero_point);
    with_fitting_vectors<Arch, X>(channels, [=]<class Fitting>() noexcept {
        for (std::size_t pixel = 0; pixel != pixels; ++pixel) {
            const X* from = x + pixel * channels;
            const float length = length_of_codes<Fitting>(from, channels, x_zero_point);
            const auto quotient = [=](const auto& code, std::size_t) __attribute__((always_inline)) {
                const auto scaled = float_of(code - x_zero_point) * steps;
                using Number = std::remove_const_t<decltype(scaled)>;
                return range.nearest(divide_numbers(scaled, Number(length)));
            };
            map_in_order<ieee_vectors<Fitting>>(from, channels, y + pixel * channels, quotient);
        }
    });
}

/// The same for floats: y = x / max(length, 1e-12), PyTorch's normalize(x, p=2). Lengths are sums in double of exact
/// squares. y may be x.
template <class Arch> void l2_normalize(const float* x, std::size_t pixels, std::size_t channels, float* y) noexcept {
    for (std::size_t pixel = 0; pixel != pixels; ++pixel, x += channels, y += channels) {
        const double squares =
            sum_in_double<Arch>(channels, [x](std::size_t c) { return double{x[c]} * double{x[c]}; });
        const auto length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
        for (std::size_t c = 0; c != channels; ++c) y[c] = x[c] / length;
    }
}

}  // namespace zp::inline v0::kernel
