// Vectors divided by their length: of codes, from exact sums of squares, and of floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/reduction/code_moments.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

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
    const float lowest = codes.lower(), highest = codes.upper();
    with_fitting_vectors<Arch, X>(channels, [=, &codes]<class Fitting>() noexcept {
        for (std::size_t pixel = 0; pixel != pixels; ++pixel) {
            const X* from = x + pixel * channels;
            Y* to = y + pixel * channels;
            const float length = length_of_codes<Fitting>(from, channels, x_zero_point);
            std::size_t i = 0;
            if constexpr (has_ieee_vectors<Fitting>) {
                using ints = xsimd::batch<std::int32_t, Fitting>;
                using floats = xsimd::batch<float, Fitting>;
                const ints x_zero(x_zero_point), y_zero(codes.zero_point);
                const floats low(lowest), high(highest), lengths(length), factor(steps);
                for (; i + vector_size<X, Fitting> <= channels; i += vector_size<X, Fitting>) {
                    auto parts = load_consecutive<Fitting>(from + i);
                    unroll<4>([&](auto part) __attribute__((always_inline)) {
                        const floats result = divide(floats(xsimd::to_float(parts[part] - x_zero) * factor), lengths);
                        parts[part] = round_to_nearest(xsimd::min(xsimd::max(result, low), high)) + y_zero;
                    });
                    store_consecutive<Fitting>(to + i, parts);
                }
            }
            for (; i != channels; ++i) {
                const float result = static_cast<float>(from[i] - x_zero_point) * steps / length;
                to[i] = static_cast<Y>(round_half_even(std::clamp(result, lowest, highest)) + codes.zero_point);
            }
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

}  // namespace kernel
}  // namespace v0
}  // namespace zp
