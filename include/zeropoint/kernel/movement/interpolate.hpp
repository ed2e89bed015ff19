// SPDX-License-Identifier: BSD-3-Clause
// Resizing of NHWC images, codes or floats: nearest, which copies, and bilinear, rounded once. Input and output are on one
// grid.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/geometry/resize_axis.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// y[h][w] = x[rows.source(h)][columns.source(w)], all channels. A row that equals the one before it is a copy of that.
template <class Arch, class T>
void interpolate_nearest(const nearest_axis& rows, const nearest_axis& columns, std::size_t channels, const T* x,
                         T* y) noexcept {
    const std::size_t x_row = static_cast<std::size_t>(columns.in) * channels;
    const std::size_t y_row = static_cast<std::size_t>(columns.out) * channels;
    with_fitting_vectors<Arch, T>(channels, [=]<class Fitting>() noexcept {
        T* to = y;
        for (int h = 0; h != rows.out; ++h) {
            const int source = rows.source(h);
            if (h != 0 && source == rows.source(h - 1)) {
                std::memcpy(to, to - y_row, y_row * sizeof(T));
                to += y_row;
                continue;
            }
            const T* from = x + static_cast<std::size_t>(source) * x_row;
            for (int w = 0; w != columns.out; ++w, to += channels) {
                const T* pixel = from + static_cast<std::size_t>(columns.source(w)) * channels;
                if constexpr (has_vectors<Fitting>) {
                    using values = xsimd::batch<T, Fitting>;
                    for_each_overlapping(channels, values::size, [=](std::size_t c) {
                        values::load_unaligned(pixel + c).store_unaligned(to + c);
                    });
                } else {
                    for (std::size_t c = 0; c != channels; ++c) to[c] = pixel[c];
                }
            }
        }
    });
}

/// One output row of a bilinear interpolation: its two input rows and their weights, and the grid.
template <class T> struct bilinear_row {
    const T *upper, *lower;
    std::int32_t upper_weight, lower_weight;  // their sum is the rows' denominator
    std::int32_t column_denominator;
    std::int64_t denominator;  // the product of both
    std::int32_t zero_point;
};

/// Neighbouring outputs between the same two input columns: the part of a row's work that is done in one sweep over the
/// channels, so that the sums of columns are computed once.
struct bilinear_group {
    static constexpr int most = 16;
    std::size_t left, right;  // offsets of the first channels
    int count = 0;
    std::int32_t weights[most];  // of right
};

/// Codes with small denominators that are powers of two, as upsampling by 2, 4 or 8 has them: all sums fit 16 bits.
inline constexpr int most_short_denominator = 256;

/// 4 * size channels of a group, for a denominator that is a power of two up to most_short_denominator. rne((S - z * D) /
/// D) + z is rne(S / D), but for ties, which go to where the difference to z is even.
template <class Arch, code8 T>
[[gnu::always_inline]] inline void interpolate_shorts(const bilinear_row<T>& row, const bilinear_group& group,
                                                      std::size_t c, std::size_t channels, T* y) noexcept {
    using bytes = xsimd::batch<std::uint8_t, Arch>;
    using words = xsimd::batch<std::uint16_t, Arch>;
    constexpr auto flip = static_cast<std::uint8_t>(std::is_signed_v<T> ? 128 : 0);
    const words low_byte(255);
    const auto word = [](std::int32_t value) __attribute__((always_inline)) {
        return words(static_cast<std::uint16_t>(value));
    };
    const auto column = [&](std::size_t at, words & even, words & odd) __attribute__((always_inline)) {
        const auto load = [&](const T* from) __attribute__((always_inline)) {
            bytes codes = bytes::load_unaligned(reinterpret_cast<const std::uint8_t*>(from));
            if constexpr (flip != 0) codes = codes ^ bytes(flip);
            return xsimd::bitwise_cast<std::uint16_t>(codes);
        };
        const words upper = load(row.upper + at + c), lower = load(row.lower + at + c);
        const words upper_weight = word(row.upper_weight), lower_weight = word(row.lower_weight);
        even = (upper & low_byte) * upper_weight + (lower & low_byte) * lower_weight;
        odd = (upper >> 8) * upper_weight + (lower >> 8) * lower_weight;
    };
    words left_even, left_odd, right_even, right_odd;
    column(group.left, left_even, left_odd);
    column(group.right, right_even, right_odd);
    const int shift = std::countr_zero(static_cast<std::uint32_t>(row.denominator));
    const words below_half = word(shift == 0 ? 0 : (1 << shift >> 1) - 1), parity = word(shift == 0 ? 0 : 1);
    const words zero_point = word((row.zero_point - std::numeric_limits<T>::lowest()) & 1);
    for (int i = 0; i != group.count; ++i) {
        const words right = word(group.weights[i]), left = word(row.column_denominator - group.weights[i]);
        const auto rounded_sum = [&](const words& sum) __attribute__((always_inline)) {
            const words odd = ((sum >> shift) ^ zero_point) & parity;
            return (sum + below_half + odd) >> shift;
        };
        const words even = rounded_sum(left_even * left + right_even * right);
        const words odd = rounded_sum(left_odd * left + right_odd * right);
        bytes codes = xsimd::bitwise_cast<std::uint8_t>(even | (odd << 8));
        if constexpr (flip != 0) codes = codes ^ bytes(flip);
        codes.store_unaligned(reinterpret_cast<std::uint8_t*>(y + static_cast<std::size_t>(i) * channels + c));
    }
}

/// 4 * size channels of a group, for denominators below 2^23: sums fit 32 bits. The quotient in floats is at most one
/// off, and the remainder, an integer, corrects it: every way to round floats gives the same codes.
template <class Arch, code8 T>
[[gnu::always_inline]] inline void interpolate_ints(const bilinear_row<T>& row, const bilinear_group& group,
                                                    std::size_t c, std::size_t channels, T* y) noexcept {
    using ints = xsimd::batch<std::int32_t, Arch>;
    using floats = xsimd::batch<float, Arch>;
    const auto column = [&](std::size_t at) __attribute__((always_inline)) {
        auto sums = load_interleaved<Arch>(row.upper + at + c);
        const auto lower = load_interleaved<Arch>(row.lower + at + c);
        unroll<4>([&](auto part) __attribute__((always_inline)) {
            sums[part] = sums[part] * ints(row.upper_weight) + lower[part] * ints(row.lower_weight);
        });
        return sums;
    };
    const auto lefts = column(group.left), rights = column(group.right);
    const auto divisor = static_cast<std::int32_t>(row.denominator);
    const ints denominator(divisor), offset(divisor * row.zero_point), zero_point(row.zero_point), one(1), zero(0);
    const floats inverse(1.0f / static_cast<float>(divisor));
    for (int i = 0; i != group.count; ++i) {
        const ints right(group.weights[i]), left(row.column_denominator - group.weights[i]);
        batch_quad<std::int32_t, Arch> codes;
        unroll<4>([&](auto part) __attribute__((always_inline)) {
            const ints sum = lefts[part] * left + rights[part] * right - offset;
            const ints quotient = round_to_nearest(xsimd::to_float(sum) * inverse);
            const ints rest = sum - quotient * denominator, twice = rest + rest;
            // A tie stays where the quotient is even.
            const ints odd = quotient & one;
            const ints up = xsimd::select(twice + odd > denominator, one, zero);
            const ints down = xsimd::select(twice - odd < zero - denominator, one, zero);
            codes[part] = quotient + up - down + zero_point;
        });
        store_interleaved<Arch>(y + static_cast<std::size_t>(i) * channels + c, codes);
    }
}

template <class T>
void interpolate_one_by_one(const bilinear_row<T>& row, const bilinear_group& group, std::size_t channels,
                            T* y) noexcept {
    for (int i = 0; i != group.count; ++i) {
        const std::int64_t right = group.weights[i], left = row.column_denominator - right;
        for (std::size_t c = 0; c != channels; ++c) {
            const auto column = [&](std::size_t at) {
                return std::int64_t{row.upper[at + c]} * row.upper_weight +
                       std::int64_t{row.lower[at + c]} * row.lower_weight;
            };
            const std::int64_t sum = column(group.left) * left + column(group.right) * right;
            *y++ = static_cast<T>(divide_half_even(sum - row.denominator * row.zero_point, row.denominator) +
                                  row.zero_point);
        }
    }
}

/// All channels of a group of codes.
template <class Arch, code8 T>
[[gnu::always_inline]] inline void interpolate_group(const bilinear_row<T>& row, const bilinear_group& group,
                                                     std::size_t channels, T* y) noexcept {
    if constexpr (has_vectors<Arch>) {
        const auto denominator = static_cast<std::uint64_t>(row.denominator);
        if (denominator <= most_short_denominator && std::has_single_bit(denominator)) {
            for_each_overlapping(channels, vector_size<T, Arch>,
                                 [&](std::size_t c) { interpolate_shorts<Arch>(row, group, c, channels, y); });
            return;
        }
        if (denominator < 1u << 23) {
            for_each_overlapping(channels, vector_size<T, Arch>,
                                 [&](std::size_t c) { interpolate_ints<Arch>(row, group, c, channels, y); });
            return;
        }
    }
    interpolate_one_by_one(row, group, channels, y);
}

/// The same for floats: ((u * a + l * b) * c + ...), weights being the floats next to the fractions.
template <class Arch>
[[gnu::always_inline]] inline void interpolate_group(const bilinear_row<float>& row, const bilinear_group& group,
                                                     std::size_t channels, float* y) noexcept {
    const auto rows = static_cast<float>(row.upper_weight + row.lower_weight);
    const float upper = static_cast<float>(row.upper_weight) / rows,
                lower = static_cast<float>(row.lower_weight) / rows;
    for (int i = 0; i != group.count; ++i, y += channels) {
        const auto columns = static_cast<float>(row.column_denominator);
        const float right = static_cast<float>(group.weights[i]) / columns;
        const float left = static_cast<float>(row.column_denominator - group.weights[i]) / columns;
        if constexpr (has_ieee_vectors<Arch>) {
            using floats = xsimd::batch<float, Arch>;
            for_each_overlapping(channels, floats::size, [&](std::size_t c) {
                const auto column = [&](std::size_t at) __attribute__((always_inline)) {
                    return floats::load_unaligned(row.upper + at + c) * floats(upper) +
                           floats::load_unaligned(row.lower + at + c) * floats(lower);
                };
                (column(group.left) * floats(left) + column(group.right) * floats(right)).store_unaligned(y + c);
            });
        } else {
            for (std::size_t c = 0; c != channels; ++c) {
                const auto column = [&](std::size_t at) {
                    return row.upper[at + c] * upper + row.lower[at + c] * lower;
                };
                y[c] = column(group.left) * left + column(group.right) * right;
            }
        }
    }
}

/// Bilinear interpolation. For codes y = rne(sum of w * (x - zero_point)) + zero_point over the four neighbours, where
/// the weights w are the exact fractions of linear_axis: one rounding, ties to even, no approximation for any sizes. For
/// floats zero_point is ignored.
template <class Arch, class T>
void interpolate_bilinear(const linear_axis& rows, const linear_axis& columns, std::size_t channels,
                          std::int32_t zero_point, const T* x, T* y) noexcept {
    const std::size_t x_row = static_cast<std::size_t>(columns.in) * channels;
    with_fitting_vectors<Arch, T>(channels, [&]<class Fitting>() noexcept {
        T* to = y;
        linear_walk row_walk(rows);
        for (int h = 0; h != rows.out; ++h, row_walk.advance()) {
            const linear_taps of_row = row_walk.taps();
            const bilinear_row<T> row{x + static_cast<std::size_t>(of_row.lower) * x_row,
                                      x + static_cast<std::size_t>(of_row.upper) * x_row,
                                      static_cast<std::int32_t>(rows.denominator) - of_row.weight,
                                      of_row.weight,
                                      static_cast<std::int32_t>(columns.denominator),
                                      rows.denominator * columns.denominator,
                                      zero_point};
            linear_walk column_walk(columns);
            for (int w = 0; w != columns.out;) {
                const linear_taps first = column_walk.taps();
                bilinear_group group;
                group.left = static_cast<std::size_t>(first.lower) * channels;
                group.right = static_cast<std::size_t>(first.upper) * channels;
                for (; w != columns.out && group.count != bilinear_group::most; ++w, column_walk.advance()) {
                    const linear_taps taps = column_walk.taps();
                    if (taps.lower != first.lower || taps.upper != first.upper) break;
                    group.weights[group.count++] = taps.weight;
                }
                interpolate_group<Fitting>(row, group, channels, to);
                to += static_cast<std::size_t>(group.count) * channels;
            }
        }
    });
}

}  // namespace zp::inline v0::kernel
