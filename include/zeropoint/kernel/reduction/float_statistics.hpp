// SPDX-License-Identifier: BSD-3-Clause
// Reductions over float arrays: ranges and histograms for observers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// zp::is_finite, of an architecture of its own: objects with other flags have another.
template <class Arch> bool is_finite_here(float x) noexcept {
    return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u;
}

/// Index of the first NaN or infinity among `count` values; `count` where all are finite.
template <class Arch> std::size_t first_not_finite(const float* x, std::size_t count) noexcept {
    std::size_t i = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        const floats largest(std::numeric_limits<float>::max());
        const auto finite = [&](const float* from) { return xsimd::abs(floats::load_unaligned(from)) <= largest; };
        constexpr std::size_t size = floats::size;
        for (; i + 4 * size <= count; i += 4 * size)
            if (!xsimd::all((finite(x + i) & finite(x + i + size)) &
                            (finite(x + i + 2 * size) & finite(x + i + 3 * size))))
                break;
    }
    while (i != count && is_finite_here<Arch>(x[i])) ++i;
    return i;
}

struct min_max_result {
    float min = infinity, max = -infinity;
    std::size_t first_not_finite = 0;  ///< index of the first NaN or infinity; the count where all are finite
};

/// min_max() of at least `Vectors` vectors, if all values are finite; else false. A float's bits without the sign are those of
/// infinity or more where it is none or NaN: one test at the end, and no branch on the way.
template <class Arch, std::size_t Vectors>
[[gnu::always_inline]] inline bool min_max_of_finite(const float* x, std::size_t count,
                                                     min_max_result& result) noexcept {
    using floats = xsimd::batch<float, Arch>;
    using ints = xsimd::batch<std::int32_t, Arch>;
    constexpr std::size_t size = floats::size;
    const ints magnitude(0x7fffffff), infinite(0x7f800000);
    floats low[Vectors], high[Vectors];
    ints largest[Vectors];
    unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
        low[v] = high[v] = floats::load_unaligned(x + v * size);
        largest[v] = ints(0);
    });
    for_each_overlapping(
        count, Vectors * size, [&](std::size_t i) __attribute__((always_inline)) {
            unroll<Vectors>([&](auto v) __attribute__((always_inline)) {
                const floats value = floats::load_unaligned(x + i + v * size);
                low[v] = xsimd::min(low[v], value);
                high[v] = xsimd::max(high[v], value);
                largest[v] = xsimd::max(largest[v], xsimd::bitwise_cast<std::int32_t>(value) & magnitude);
            });
        });
    for (std::size_t v = 1; v != Vectors; ++v) {
        low[0] = xsimd::min(low[0], low[v]);
        high[0] = xsimd::max(high[0], high[v]);
        largest[0] = xsimd::max(largest[0], largest[v]);
    }
    if (!xsimd::all(largest[0] < infinite)) return false;
    result = {xsimd::reduce_min(low[0]), xsimd::reduce_max(high[0]), count};
    return true;
}

/// Smallest and largest of the values before the first NaN or infinity; a zero is +0. Of nothing: {infinity, -infinity,
/// 0}.
template <class Arch> min_max_result min_max(const float* x, std::size_t count) noexcept {
    min_max_result result;
    bool is_done = false;
    if constexpr (has_ieee_vectors<Arch>) {
        constexpr std::size_t size = xsimd::batch<float, Arch>::size;
        if (count >= size) {
            is_done = count >= 4 * size ? min_max_of_finite<Arch, 4>(x, count, result)
                                        : min_max_of_finite<Arch, 1>(x, count, result);
            if (!is_done) return min_max<Arch>(x, first_not_finite<Arch>(x, count));
        }
    }
    if (!is_done) {
        std::size_t i = 0;
        for (; i != count && is_finite_here<Arch>(x[i]); ++i) {
            result.min = std::min(result.min, x[i]);
            result.max = std::max(result.max, x[i]);
        }
        result.first_not_finite = i;
    }
    result.min += 0.0f;  // -0 + 0 = +0: which zero came first does not show
    result.max += 0.0f;
    return result;
}

/// Smallest and largest of at least one value, all finite.
template <class Arch> std::pair<float, float> range_of_finite(const float* x, std::size_t count) noexcept {
    float min = x[0], max = x[0];
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        if (count >= floats::size) {
            floats low = floats::load_unaligned(x), high = low;
            for_each_overlapping(
                count, floats::size, [&](std::size_t i) __attribute__((always_inline)) {
                    const floats value = floats::load_unaligned(x + i);
                    low = xsimd::min(low, value);
                    high = xsimd::max(high, value);
                });
            return {xsimd::reduce_min(low), xsimd::reduce_max(high)};
        }
    }
    for (std::size_t i = 1; i != count; ++i) {
        min = std::min(min, x[i]);
        max = std::max(max, x[i]);
    }
    return {min, max};
}

/// lows[i % row] = min(lows[i % row], x[i]) and likewise highs, for `count` finite values.
template <class Arch>
void min_max_rows(const float* x, std::size_t count, std::size_t row, float* lows, float* highs) noexcept {
    for (std::size_t first = 0; first < count; first += row) {
        const float* values = x + first;
        const std::size_t length = std::min(row, count - first);
        for_each_number<Arch>(
            length, [&](std::size_t c, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                const Number value = load_number<Number>(values + c);
                store_number(Number(xsimd::min(load_number<Number>(lows + c), value)), lows + c);
                store_number(Number(xsimd::max(load_number<Number>(highs + c), value)), highs + c);
            });
    }
}

/// Range of each channel, where value i belongs to channel (i / inner) % channels: inner = 1 for NHWC activations,
/// inner = everything behind the first axis for weights. Widens mins[c] and maxs[c] (start them at +infinity and
/// -infinity) by the values before the first NaN or infinity, and returns its index, or `count` where all are finite. A
/// zero is +0.
template <class Arch>
std::size_t min_max_per_channel(const float* x, std::size_t count, std::size_t channels, std::size_t inner, float* mins,
                                float* maxs) noexcept {
    const std::size_t finite = first_not_finite<Arch>(x, count);
    if (inner != 1) {
        std::size_t c = 0;
        for (std::size_t first = 0; first < finite; first += inner) {
            const auto [min, max] = range_of_finite<Arch>(x + first, std::min(inner, finite - first));
            mins[c] = std::min(mins[c], min);
            maxs[c] = std::max(maxs[c], max);
            if (++c == channels) c = 0;
        }
    } else if (constexpr std::size_t widest = 128; channels <= widest / 2) {
        // A row of few channels would leave vectors unfilled: several pixels make one row, whose columns are folded
        // afterwards.
        float lows[widest], highs[widest];
        const std::size_t row = widest / channels * channels;
        std::fill_n(lows, row, infinity);
        std::fill_n(highs, row, -infinity);
        min_max_rows<Arch>(x, finite, row, lows, highs);
        for (std::size_t i = 0; i != row; ++i) {
            mins[i % channels] = std::min(mins[i % channels], lows[i]);
            maxs[i % channels] = std::max(maxs[i % channels], highs[i]);
        }
    } else {
        min_max_rows<Arch>(x, finite, channels, mins, maxs);
    }
    for (std::size_t c = 0; c != channels; ++c) {
        mins[c] += 0.0f;
        maxs[c] += 0.0f;
    }
    return finite;
}

/// Adds 1 to counts[bin] for the bins of all values, and returns how many have one. bins_of(first, n, bin) gives the bins
/// of n values from `first` on, -1 for none. An increment waits for the one before it of the same bin, and activations
/// are full of equal values: neighbours count in tables of their own where that pays. `Count` may be float, whose counts
/// stop at 2^24 as PyTorch's do.
template <class Arch, class Count, class BinsOf>
[[gnu::always_inline]] inline std::size_t count_bins(std::size_t values, std::size_t bins, Count* counts,
                                                     BinsOf&& bins_of) noexcept {
    constexpr std::size_t block = 64, tables = 4, most_bins = 2048;
    std::array<std::int32_t, block> bin;
    const auto for_each_bin = [&](auto&& visit) __attribute__((always_inline)) {
        for (std::size_t first = 0; first < values; first += block) {
            const std::size_t n = std::min(block, values - first);
            bins_of(first, n, bin.data());
            std::size_t i = 0;
            for (; i + tables <= n; i += tables)
                unroll<tables>([&](auto j) __attribute__((always_inline)) { visit(j, bin[i + j]); });
            for (; i != n; ++i) visit(std::size_t{0}, bin[i]);
        }
    };
    std::size_t inside = 0;
    if (bins > most_bins || values < tables * bins || values > 0xffffffff) {
        for_each_bin([&](std::size_t, std::int32_t b) {
            if (b >= 0) counts[b] += Count{1}, ++inside;
        });
        return inside;
    }
    std::uint32_t table[most_bins + 1][tables] = {};  // the first one is of values without a bin
    for_each_bin([&](std::size_t i, std::int32_t b) __attribute__((always_inline)) { ++table[b + 1][i]; });
    for (std::size_t b = 0; b != bins; ++b) {
        std::uint32_t sum = 0;
        for (const std::uint32_t part : table[b + 1]) sum += part;
        inside += sum;
        counts[b] += static_cast<Count>(sum);
        if constexpr (std::is_same_v<Count, float>) counts[b] = std::min(counts[b], 0x1p24f);
    }
    return inside;
}

/// Adds the histogram of `count` values to `counts[bins]` and returns how many lay in [low, high]; the others, and NaN,
/// are left out. The bin is torch.histc's (ATen/native/cpu/HistogramKernel.cpp), in float and in this order:
///     bin = (x - low) * bins / (high - low), truncated; x = high falls into the last one
/// low = high stands for [low - 1, high + 1]. `Count` is float for PyTorch's counts (which stop at 2^24), an integer
/// for exact ones. 0 < bins < 2^24.
template <class Arch, class Count>
std::size_t histogram(const float* x, std::size_t count, float low, float high, int bins, Count* counts) noexcept {
    if (low == high) {
        low -= 1;
        high += 1;
    }
    const float scale = static_cast<float>(bins), width = high - low, last = static_cast<float>(bins - 1);
    return count_bins<Arch>(
        count, static_cast<std::size_t>(bins), counts, [&](std::size_t first, std::size_t n, std::int32_t* bin) {
            for_each_number<Arch>(
                n, [&](std::size_t i, auto number) __attribute__((always_inline)) {
                    using Number = decltype(number);
                    const Number value = load_number<Number>(x + first + i);
                    const Number position = divide_numbers(Number((value - low) * scale), Number(width));
                    const Number clipped = choose_number(position < Number(last), position, Number(last));
                    const auto inside = (value >= Number(low)) & (value <= Number(high));
                    const Number place = choose_number(inside, clipped, Number(-1.0f));
                    if constexpr (std::is_same_v<Number, float>) bin[i] = static_cast<std::int32_t>(place);
                    else xsimd::to_int(place).store_unaligned(bin + i);
                });
        });
}

/// counts[floor(x * per_value) - first] += 1 for `count` finite values, exact: per_value is a power of two from 2^-126 to
/// 2^200. The bins of all values exist, `bins` of them, at most 2^20, that of zero included.
template <class Arch>
void histogram_from_zero(const float* x, std::size_t count, double per_value, std::int32_t first, std::size_t bins,
                         std::uint64_t* counts) noexcept {
    count_bins<Arch>(count, bins, counts, [&](std::size_t begin, std::size_t n, std::int32_t* bin) {
        std::size_t i = 0;
        if constexpr (has_ieee_vectors<Arch>) {
            using floats = xsimd::batch<float, Arch>;
            // Two factors, because per_value may be beyond floats. The product is exact, or it is so small that a
            // negative one may become -0.
            const double part = per_value > 0x1p100 ? 0x1p100 : 1;
            const floats factor(static_cast<float>(per_value / part)), rest(static_cast<float>(part));
            const floats zero(0.0f), unit(1.0f);
            const xsimd::batch<std::int32_t, Arch> firsts(first);
            for (; i + floats::size <= n; i += floats::size) {
                const floats value = floats::load_unaligned(x + begin + i), position = value * factor * rest;
                const floats vanished = xsimd::select((value < zero) & (position == zero), unit, zero);
                (xsimd::to_int(xsimd::floor(position) - vanished) - firsts).store_unaligned(bin + i);
            }
        }
        for (; i != n; ++i) {
            const double position = x[begin + i] * per_value;
            const auto whole = static_cast<std::int32_t>(position);
            bin[i] = whole - (whole > position) - first;
        }
    });
}

}  // namespace zp::inline v0::kernel
