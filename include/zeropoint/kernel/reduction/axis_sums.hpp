// SPDX-License-Identifier: BSD-3-Clause
// Sums and means of NHWC images along any of their axes, which stay as extents of 1.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/epilogue/requantize.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/reduction/pooling.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// What sum_axes() needs: make_sum_parameters() computes it.
struct axis_sum_parameters {
    double numerator = 1, denominator = 1;  ///< x_scale, and y_scale times the divisor
    std::int32_t x_zero_point = 0, y_zero_point = 0;
    std::int32_t quant_min = 0, quant_max = 255;
    constexpr bool operator==(const axis_sum_parameters&) const = default;
};

/// Parameters of y = sum of x / divisor, where the divisor is 1 for a sum and the number of values for a mean, from the
/// scales and zero points (8-bit codes, zero points within their ranges). A fused clamp only narrows [quant_min,
/// quant_max]. Raises value_error where a scale is not a finite number above zero.
constexpr axis_sum_parameters make_sum_parameters(float x_scale, std::int32_t x_zero_point, int divisor, float y_scale,
                                                  std::int32_t y_zero_point, std::int32_t quant_min,
                                                  std::int32_t quant_max) {
    require_scales("sum", {x_scale, y_scale});
    return {x_scale, double{y_scale} * divisor, x_zero_point, y_zero_point, quant_min, quant_max};
}

/// rne(clamp(steps, quant_min - y_zero_point, quant_max - y_zero_point)) + y_zero_point
template <class Parameters>
[[gnu::always_inline]] inline std::int32_t code_of_steps(double steps, const Parameters& p) noexcept {
    const double clamped =
        std::clamp(steps, double(p.quant_min - p.y_zero_point), double(p.quant_max - p.y_zero_point));
    return static_cast<std::int32_t>(round_half_even(clamped)) + p.y_zero_point;
}

/// The output code of an exact integer sum of x - x_zero_point:
/// rne(clamp(double(sum) * numerator / denominator, quant_min - y_zero_point, quant_max - y_zero_point)) + y_zero_point.
/// Product and divisor are exact for up to 2^21 values, so the quotient is the double next to the real one, and a tie is
/// one.
template <class Arch>
[[gnu::always_inline]] inline std::int32_t code_of_sum(std::int64_t sum, const axis_sum_parameters& p) noexcept {
    return code_of_steps(static_cast<double>(sum) * p.numerator / p.denominator, p);
}

/// What a mean needs in LiteRT's fixed point: the factor of sums, in which the number of values is.
struct fixed_point_mean_parameters {
    std::int32_t multiplier = 0;
    int shift = 0;
    std::int32_t x_zero_point = 0, y_zero_point = 0, quant_min = 0, quant_max = 255;
    constexpr bool operator==(const fixed_point_mean_parameters&) const = default;
};
/// multiplier * 2^(shift - 31) is the ratio of the scales, x's to y's. The multiplier is shifted up by the bits of the number of
/// values, but one, and divided by it.
constexpr fixed_point_mean_parameters make_fixed_point_mean(std::int32_t multiplier, int shift, int divisor,
                                                            std::int32_t x_zero_point, std::int32_t y_zero_point,
                                                            std::int32_t quant_min, std::int32_t quant_max) {
    const int bits = std::min(static_cast<int>(std::bit_width(static_cast<unsigned>(divisor))) - 1, 31 + shift);
    const auto divided = static_cast<std::int32_t>((std::int64_t{multiplier} << bits) / divisor);
    return {divided, shift - bits, x_zero_point, y_zero_point, quant_min, quant_max};
}
/// The output code of a sum that fits int32, rounded twice: fixed_point_double_rounding.
template <class Arch>
[[gnu::always_inline]] inline std::int32_t code_of_sum(std::int64_t sum,
                                                       const fixed_point_mean_parameters& p) noexcept {
    return fixed_point_double_rounding{&p.multiplier, &p.shift, {p.y_zero_point, p.quant_min, p.quant_max}}(
        static_cast<std::int32_t>(sum), 0);
}

/// Sum of code - lowest code of T over `count` codes one after the other.
template <class Arch, code8 T>
[[gnu::always_inline]] inline std::int64_t sum_of_run(const T* x, std::size_t count) noexcept {
    std::int64_t sum = 0;
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        constexpr std::size_t size = vector_size<T, Arch>, most = 1 << 14;  // sums of so many vectors fit 32 bits
        while (i + size <= count) {
            const int vectors = static_cast<int>(std::min((count - i) / size, most));
            const window_span one{0, 0, 1, 1, 1}, all{0, 0, vectors, 1, vectors};
            const auto parts = sum_window<Arch>(pool_window<T>{x + i, one, all, 0, std::ptrdiff_t{size}}, 0);
            std::array<std::int32_t, size / 4> lanes;
            ((parts[0] + parts[1]) + (parts[2] + parts[3])).store_unaligned(lanes.data());
            for (const std::int32_t lane : lanes) sum += lane;
            i += static_cast<std::size_t>(vectors) * size;
        }
    }
    for (; i != count; ++i) sum += x[i] - std::numeric_limits<T>::lowest();
    return sum;
}

/// Calls finish(sum of code - lowest code over the window, channel) for each of `channels` channels, some twice.
template <class Arch, code8 T, class Finish>
[[gnu::always_inline]] inline void sum_channels(const pool_window<T>& window, std::size_t channels,
                                                Finish&& finish) noexcept {
    if constexpr (has_vectors<Arch>) {
        if (window.size() <= 1 << 23) {  // so many times 255 fit 31 bits
            constexpr std::size_t size = vector_size<T, Arch>;
            for_each_overlapping(channels, size, [&](std::size_t c) {
                const auto sums = sum_window<Arch>(window, c);
                std::array<std::array<std::int32_t, size / 4>, 4> parts;
                for (std::size_t t = 0; t != 4; ++t) sums[t].store_unaligned(parts[t].data());
                for (std::size_t i = 0; i != size; ++i) finish(std::int64_t{parts[i % 4][i / 4]}, c + i);
            });
            return;
        }
    }
    for (std::size_t c = 0; c != channels; ++c) {
        std::int64_t sum = 0;
        window.for_each_position([&](const T* from) { sum += from[c] - std::numeric_limits<T>::lowest(); });
        finish(sum, c);
    }
}

/// The extents of a reduction from `in` to `out` with as few axes as possible: what is folded and lies together is one
/// axis of channels.
struct reduction_extents {
    shape in, out;
    constexpr reduction_extents(const shape& from, const shape& to) : in(from), out(to) {
        if (out.channels != 1) return;
        if (out.width == 1) in = {in.height, 1, in.width * in.channels};
        if (out.width == 1 && out.height == 1) in = {1, 1, in.height * in.channels};
    }
};

/// Calls fold(window of the input, pointer to the output pixel) for all pixels of a reduction.
template <class T, class Y, class Fold>
[[gnu::always_inline]] inline void for_each_fold(const reduction_extents& e, const T* x, Y* y, Fold&& fold) noexcept {
    const auto span = [](int index, int in, int out) {
        return out == 1 ? window_span{0, 0, in, 1, in} : window_span{index, 0, 1, 1, 1};
    };
    const std::ptrdiff_t pixel = e.in.channels, row = pixel * e.in.width;
    for (int r = 0; r != e.out.height; ++r) {
        const window_span rows = span(r, e.in.height, e.out.height);
        for (int c = 0; c != e.out.width; ++c, y += e.out.channels) {
            const window_span columns = span(c, e.in.width, e.out.width);
            fold(pool_window<T>{x + rows.first * row + columns.first * pixel, rows, columns, row, pixel}, y);
        }
    }
}

/// y = the sum of x over each axis whose extent in `out` is 1, on the output's grid: the sum of x - x_zero_point is an
/// exact integer, and code_of_sum() of the Parameters rounds it. `out` has the extents of `in` on all other axes, and the divisor of
/// the parameters makes the sum a mean. y may not be x.
template <class Arch, code8 X, code8 Y, class Parameters>
void sum_axes(const shape& in, const shape& out, const X* x, const Parameters& p, Y* y) noexcept {
    const reduction_extents e(in, out);
    const auto channels = static_cast<std::size_t>(e.in.channels);
    const std::int64_t offset = p.x_zero_point - std::numeric_limits<X>::lowest();
    if (e.out.channels != e.in.channels) {
        for_each_fold(e, x, y, [&](const pool_window<X>& window, Y* to) {
            std::int64_t sum = -offset * window.size() * e.in.channels;
            window.for_each_position([&](const X* from) { sum += sum_of_run<Arch>(from, channels); });
            *to = static_cast<Y>(code_of_sum<Arch>(sum, p));
        });
        return;
    }
    with_fitting_vectors<Arch, X>(channels, [&]<class Fitting>() noexcept {
        for_each_fold(e, x, y, [&](const pool_window<X>& window, Y* to) {
            const std::int64_t zeros = offset * window.size();
            sum_channels<Fitting>(window, channels, [&](std::int64_t sum, std::size_t c) {
                to[c] = static_cast<Y>(code_of_sum<Arch>(sum - zeros, p));
            });
        });
    });
}

/// The same for codes of 16 bits, whose zero points are 0. Products of sums and scales are exact for up to 2^14 values.
template <class Arch>
void sum_axes(const shape& in, const shape& out, const std::int16_t* x, const axis_sum_parameters& p,
              std::int16_t* y) noexcept {
    constexpr std::size_t side_by_side = 64;
    const reduction_extents e(in, out);
    const auto channels = static_cast<std::size_t>(e.in.channels);
    for_each_fold(e, x, y, [&](const pool_window<std::int16_t>& window, std::int16_t* to) {
        if (e.out.channels != e.in.channels) {
            std::int64_t sum = 0;
            window.for_each_position([&](const std::int16_t* from) {
                for (std::size_t c = 0; c != channels; ++c) sum += from[c];
            });
            *to = static_cast<std::int16_t>(code_of_sum<Arch>(sum, p));
            return;
        }
        for (std::size_t first = 0; first < channels; first += side_by_side) {
            const std::size_t run = std::min(side_by_side, channels - first);
            const auto add_up = [&]<class Sum>(Sum) {
                Sum sums[side_by_side] = {};
                window.for_each_position([&](const std::int16_t* from) {
                    for (std::size_t c = 0; c != run; ++c) sums[c] += from[first + c];
                });
                for (std::size_t c = 0; c != run; ++c)
                    to[first + c] = static_cast<std::int16_t>(code_of_sum<Arch>(sums[c], p));
            };
            if (window.size() < 1 << 16) add_up(std::int32_t{});
            else add_up(std::int64_t{});
        }
    });
}

/// The same for floats: y = min(max(sum of x / divisor, low), high). Sums are in double, in the order of rows, columns and
/// channels, so they are the same on every architecture; a NaN stays one. y may not be x.
template <class Arch>
void sum_axes(const shape& in, const shape& out, int divisor, float low, float high, const float* x,
              float* y) noexcept {
    constexpr std::size_t side_by_side = 16;
    const reduction_extents e(in, out);
    const auto finish = [=](double sum) { return bounded_value(static_cast<float>(sum / divisor), low, high); };
    for_each_fold(e, x, y, [&](const pool_window<float>& window, float* to) {
        if (e.out.channels != e.in.channels) {
            double sum = 0;
            window.for_each_position([&](const float* from) {
                for (int c = 0; c != e.in.channels; ++c) sum += double{from[c]};
            });
            *to = finish(sum);
            return;
        }
        const auto channels = static_cast<std::size_t>(e.in.channels);
        for (std::size_t first = 0; first < channels; first += side_by_side) {
            const std::size_t run = std::min(side_by_side, channels - first);
            double sums[side_by_side] = {};
            window.for_each_position([&](const float* from) {
                for (std::size_t c = 0; c != run; ++c) sums[c] += double{from[first + c]};
            });
            for (std::size_t c = 0; c != run; ++c) to[first + c] = finish(sums[c]);
        }
    });
}

}  // namespace zp::inline v0::kernel
