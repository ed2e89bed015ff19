// SPDX-License-Identifier: BSD-3-Clause
// Max and average pooling of NHWC images, codes or floats, vectorized over channels.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>
#include <zeropoint/kernel/geometry/window_span.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/reduction/code_moments.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

namespace zp::inline v0::kernel {

/// One window in memory: its first value, its spans, and the distances between rows and columns, in values.
template <class T> struct pool_window {
    using value_type = T;
    const T* first;
    window_span rows, columns;
    std::ptrdiff_t row_distance, column_distance;

    constexpr int size() const { return rows.count * columns.count; }
    /// Calls body(pointer to the first channel) for every position inside the input.
    template <class Body> [[gnu::always_inline]] void for_each_position(Body&& body) const noexcept {
        for (int r = 0; r != rows.count; ++r)
            for (int c = 0; c != columns.count; ++c) body(first + r * row_distance + c * column_distance);
    }
};

/// Calls pool(window, pointer to the output pixel) for all outputs; rows_of(index) and columns_of(index) give the
/// spans.
template <class T, class RowsOf, class ColumnsOf, class Pool>
[[gnu::always_inline]] inline void for_each_window(const shape& in, const shape& out, const T* x, T* y,
                                                   RowsOf&& rows_of, ColumnsOf&& columns_of, Pool&& pool) noexcept {
    const std::ptrdiff_t pixel = in.channels, row = pixel * in.width;
    for (int r = 0; r != out.height; ++r) {
        const window_span rows = rows_of(r);
        for (int c = 0; c != out.width; ++c, y += out.channels) {
            const window_span columns = columns_of(c);
            pool(pool_window<T>{x + rows.first * row + columns.first * pixel, rows, columns, rows.step * row,
                                columns.step * pixel},
                 y);
        }
    }
}

/// The value that loses against all others.
template <class T> inline constexpr T lowest_value = std::numeric_limits<T>::lowest();
template <> inline constexpr float lowest_value<float> = -infinity;

/// The larger of two values or vectors; in floats the second where one is NaN.
template <class Value> [[gnu::always_inline]] inline Value larger(const Value& a, const Value& b) noexcept {
    if constexpr (std::is_arithmetic_v<Value>) return a > b ? a : b;
    else if constexpr (std::is_floating_point_v<typename Value::value_type>) return xsimd::select(a > b, a, b);
    else return xsimd::max(a, b);
}

/// y[i] = the largest of the values p[i] for i < count, `for_each(visit)` calling visit(p) for each p, and lowest_value<T>
/// for none. Vectors where `count` values fill one.
template <class Arch, class T, class ForEach>
[[gnu::always_inline]] inline void largest_values(std::size_t count, T* y, const ForEach& for_each) noexcept {
    if constexpr (has_vectors<Arch>) {
        using values = xsimd::batch<T, Arch>;
        if (count >= values::size) {
            for_each_overlapping(
                count, values::size, [&](std::size_t i) __attribute__((always_inline)) {
                    values best(lowest_value<T>);
                    for_each([&](const T* from) __attribute__((always_inline)) {
                        best = larger(values::load_unaligned(from + i), best);
                    });
                    best.store_unaligned(y + i);
                });
            return;
        }
    }
    for (std::size_t i = 0; i != count; ++i) {
        T best = lowest_value<T>;
        for_each([&](const T* from) __attribute__((always_inline)) { best = larger(from[i], best); });
        y[i] = best;
    }
}

/// max_pool2d for pixels that do not fill a vector: over whole rows of the input, as if every column began a window,
/// and from the results those of the output are picked. Some output columns at a time, in tiles on the stack.
template <class Arch, class T> class narrow_max_pool2d {
    static constexpr int room = 1024;
    using values = xsimd::batch<T, Arch>;
    static constexpr int size = static_cast<int>(values::size);

public:
    static constexpr bool supports(const conv2d_geometry& g) {
        return g.in.channels * static_cast<int>(sizeof(T)) < 16 && g.window_width() * g.in.channels <= room;
    }

    void operator()(const conv2d_geometry& g, const T* x, T* y) noexcept {
        const int channels = g.in.channels;
        const int most = std::min((room / channels - g.window_width()) / g.stride_width + 1, g.out.width);
        for (int row = 0; row != g.out.height; ++row) {
            const window_span rows = rows_under(g, row, g.dilation_height);
            for (int first = 0; first < g.out.width; first += most) {
                const int count = std::min(most, g.out.width - first);
                fold_rows(g, x, rows, first * g.stride_width - g.padding_left,
                          (count - 1) * g.stride_width + g.window_width());
                fold_columns(g, ((count - 1) * g.stride_width + 1) * channels);
                for (int c = 0; c != count; ++c)
                    std::memcpy(picked_ + c * channels, columns_ + c * g.stride_width * channels, 16);
                std::memcpy(y, picked_, static_cast<std::size_t>(count * channels) * sizeof(T));
                y += count * channels;
            }
        }
    }

private:
    /// rows_: the largest of each column over the rows of a window; `first` and `count` are columns of the input, of
    /// which some lie in the padding.
    void fold_rows(const conv2d_geometry& g, const T* x, const window_span& rows, int first, int count) noexcept {
        const int channels = g.in.channels;
        const int begin = std::clamp(-first, 0, count), end = std::clamp(g.in.width - first, begin, count);
        std::fill_n(rows_, begin * channels, lowest_value<T>);
        std::fill(rows_ + end * channels, rows_ + count * channels, lowest_value<T>);
        const std::ptrdiff_t pitch = std::ptrdiff_t{g.in.width} * channels;
        const T* from = x + rows.first * pitch + std::ptrdiff_t{first + begin} * channels;
        T* to = rows_ + begin * channels;
        const int length = (end - begin) * channels;
        largest_values<Arch>(
            static_cast<std::size_t>(length), to, [&](const auto& visit) __attribute__((always_inline)) {
                for (int r = 0; r != rows.count; ++r) visit(from + r * rows.step * pitch);
            });
    }
    /// columns_: the largest of each window of rows_; `length` values, and a few more without meaning.
    void fold_columns(const conv2d_geometry& g, int length) noexcept {
        const int step = g.dilation_width * g.in.channels;
        for (int i = 0; i < length; i += size) {
            values best = values::load_unaligned(rows_ + i);
            for (int k = 1; k < g.kernel_width; ++k) best = larger(values::load_unaligned(rows_ + i + k * step), best);
            best.store_unaligned(columns_ + i);
        }
    }

    // The slack is for vectors that reach beyond the last value.
    T rows_[room + size], columns_[room + size], picked_[room + size];
};

/// y = the largest value of each window over the input x. Kernel, stride, padding and dilation come from the geometry,
/// the number of windows from its `out` (so ceil_mode is a matter of `out`); padding never wins. x and y have equal
/// channels.
template <class Arch, class T> void max_pool2d(const conv2d_geometry& g, const T* x, T* y) noexcept {
    if constexpr (has_vectors<Arch>) {
        if (narrow_max_pool2d<Arch, T>::supports(g)) {
            narrow_max_pool2d<Arch, T>()(g, x, y);
            return;
        }
    }
    const auto rows_of = [&](int r) { return rows_under(g, r, g.dilation_height); };
    const auto columns_of = [&](int c) { return columns_under(g, c, g.dilation_width); };
    const auto channels = static_cast<std::size_t>(g.in.channels);
    with_fitting_vectors<Arch, T>(channels, [&]<class Fitting>() noexcept {
        for_each_window(g.in, g.out, x, y, rows_of, columns_of, [=](const pool_window<T>& window, T* to) noexcept {
            largest_values<Fitting>(
                channels,
                to, [&](const auto& visit) __attribute__((always_inline)) { window.for_each_position(visit); });
        });
    });
}

/// Sums over a window of code - lowest code of T, for the channels of one vector, in the order of load_interleaved.
template <class Arch, class Window>
    requires code8<typename Window::value_type>
[[gnu::always_inline]] inline batch_quad<std::int32_t, Arch> sum_window(const Window& window,
                                                                        std::size_t channel) noexcept {
    using words = xsimd::batch<std::uint16_t, Arch>;
    using ints = xsimd::batch<std::int32_t, Arch>;
    constexpr int safe = 257;  // so many times 255 fit 16 bits
    const ints low_half(0xffff);
    batch_quad<std::int32_t, Arch> sums;  // of the least significant bytes of lanes first
    sums = {ints(0), ints(0), ints(0), ints(0)};
    words even(0), odd(0);
    const auto flush = [&]() {
        const ints evens = xsimd::bitwise_cast<std::int32_t>(even), odds = xsimd::bitwise_cast<std::int32_t>(odd);
        sums[0] += evens & low_half;
        sums[1] += odds & low_half;
        sums[2] += (evens >> 16) & low_half;
        sums[3] += (odds >> 16) & low_half;
        even = odd = words(0);
    };
    int summed = 0;
    window.for_each_position([&](const auto* from) {
        const code_distances<Arch> codes(from + channel);
        even += codes.even;
        odd += codes.odd;
        if (++summed == safe) {
            flush();
            summed = 0;
        }
    });
    flush();
    return {sums[significance(0)], sums[significance(1)], sums[significance(2)], sums[significance(3)]};
}

/// How quotients are rounded: ties to even, or away from zero.
struct ties_to_even {
    template <class Floats> [[gnu::always_inline]] static auto nearest(const Floats& x) noexcept {
        return round_to_nearest(x);
    }
    static constexpr std::int64_t divide(std::int64_t x, std::int64_t by) { return divide_half_even(x, by); }
};
struct ties_away_from_zero {
    template <class Floats> [[gnu::always_inline]] static auto nearest(const Floats& x) noexcept {
        const Floats half(0.5f);
        return xsimd::to_int(x + xsimd::select(x < Floats(0.0f), -half, half));
    }
    static constexpr std::int64_t divide(std::int64_t x, std::int64_t by) { return divide_half_away(x, by); }
};

/// y[c] = nearest(sum over the window of (x - zero_point) / divisor) + zero_point for all channels of one output pixel; the zero
/// point of 16-bit codes is 0. A Window is
/// a pool_window, or one of several planes.
///
/// The vectors divide in float, which gives the same integers while divisor < 2^16. The sum is at most 255 * divisor <
/// 2^24, so both are exact floats, and the quotient below 256 in magnitude is the float nearest to the true one. A true
/// tie k + 1/2 is a float, so it arrives as it is. Any other true quotient is at least 1 / (2 divisor) > 2^-17 away
/// from the tie, and rounding moves it by at most half a unit in the last place, 2^-17: it stays on its side. So does
/// its sum with 1/2, which is exact from 1/2 to 2^7, and beyond rounds to multiples of 2^-16.
template <class Arch, class Ties = ties_to_even, class Window, std::integral T>
[[gnu::always_inline]] inline void average_window(const Window& window, std::int32_t divisor, std::int32_t zero_point,
                                                  std::size_t channels, T* y) noexcept {
    if constexpr (has_ieee_vectors<Arch> && code8<T>) {
        if (divisor < 1 << 16) {
            using ints = xsimd::batch<std::int32_t, Arch>;
            const ints offset(window.size() * (zero_point - std::numeric_limits<T>::lowest())), zero_points(zero_point);
            const xsimd::batch<float, Arch> divisors(static_cast<float>(divisor));
            for_each_overlapping(channels, vector_size<T, Arch>, [&](std::size_t c) {
                auto codes = sum_window<Arch>(window, c);
                unroll<4>([&](auto part) __attribute__((always_inline)) {
                    codes[part] = Ties::nearest(divide(xsimd::to_float(codes[part] - offset), divisors)) + zero_points;
                });
                store_interleaved<Arch>(y + c, codes);
            });
            return;
        }
    }
    if constexpr (sizeof(T) == 2) {
        if (window.size() < 1 << 16) {  // int32 holds the sums of words, many channels at a time
            constexpr std::size_t block = 64;
            for (std::size_t first = 0; first < channels; first += block) {
                const std::size_t count = std::min(channels - first, block);
                std::int32_t sums[block] = {};
                window.for_each_position([&](const T* from) {
                    for (std::size_t c = 0; c != count; ++c) sums[c] += from[first + c];
                });
                for (std::size_t c = 0; c != count; ++c) y[first + c] = static_cast<T>(Ties::divide(sums[c], divisor));
            }
            return;
        }
    }
    if constexpr (sizeof(T) == 1 && std::is_same_v<Ties, ties_to_even>) {
        if (divisor < 1 << 22) {  // int32 holds the sum, which is at most 255 * divisor
            for (std::size_t c = 0; c != channels; ++c) {
                std::int32_t sum = 0;
                window.for_each_position([&](const T* from) { sum += from[c] - zero_point; });
                y[c] = static_cast<T>(divide_half_even(sum, divisor) + zero_point);
            }
            return;
        }
    }
    for (std::size_t c = 0; c != channels; ++c) {
        std::int64_t sum = 0;
        window.for_each_position([&](const T* from) { sum += from[c] - zero_point; });
        y[c] = static_cast<T>(Ties::divide(sum, divisor) + zero_point);
    }
}

/// The same for floats, summed row by row; there is no zero point.
template <class Arch, class Ties = ties_to_even, class Window>
[[gnu::always_inline]] inline void average_window(const Window& window, std::int32_t divisor, std::int32_t,
                                                  std::size_t channels, float* y) noexcept {
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        for_each_overlapping(channels, floats::size, [&](std::size_t c) {
            floats sum(0.0f);
            window.for_each_position([&](const float* from) { sum += floats::load_unaligned(from + c); });
            divide(sum, floats(static_cast<float>(divisor))).store_unaligned(y + c);
        });
    } else {
        for (std::size_t c = 0; c != channels; ++c) {
            float sum = 0;
            window.for_each_position([&](const float* from) { sum += from[c]; });
            y[c] = sum / static_cast<float>(divisor);
        }
    }
}

/// Average of each window, x and y on the same grid: for codes y = rne(sum of (x - zero_point) / n) + zero_point, exact
/// in integers (reference/pooling.hpp), for floats sum / n. n is the number of positions inside the input, or with
/// `count_include_pad` inside the input and its padding, taken to be the same at both ends. Dilation is 1.
template <class Arch, class Ties = ties_to_even, class T>
void avg_pool2d(const conv2d_geometry& g, bool count_include_pad, std::int32_t zero_point, const T* x, T* y) noexcept {
    const auto rows_of = [&](int r) { return rows_under(g, r, 1); };
    const auto columns_of = [&](int c) { return columns_under(g, c, 1); };
    const auto channels = static_cast<std::size_t>(g.in.channels);
    with_fitting_vectors<Arch, T>(channels, [&]<class Fitting>() noexcept {
        for_each_window(g.in, g.out, x, y, rows_of, columns_of, [=](const pool_window<T>& window, T* to) noexcept {
            const int n = count_include_pad ? window.rows.padded * window.columns.padded : window.size();
            average_window<Fitting, Ties>(window, std::max(n, 1), zero_point, channels, to);
        });
    });
}

/// Average over a grid of out.height x out.width cells that cover the input, cells as in span_of_cell; 1 x 1 is global
/// average pooling. x and y have the same channels and grid of values; the arithmetic is avg_pool2d's.
template <class Arch, class T>
void adaptive_avg_pool2d(const shape& in, const shape& out, std::int32_t zero_point, const T* x, T* y) noexcept {
    const auto rows_of = [&](int r) { return span_of_cell(r, in.height, out.height); };
    const auto columns_of = [&](int c) { return span_of_cell(c, in.width, out.width); };
    const auto channels = static_cast<std::size_t>(in.channels);
    with_fitting_vectors<Arch, T>(channels, [&]<class Fitting>() noexcept {
        for_each_window(in, out, x, y, rows_of, columns_of, [=](const pool_window<T>& window, T* to) noexcept {
            average_window<Fitting>(window, window.size(), zero_point, channels, to);
        });
    });
}

}  // namespace zp::inline v0::kernel
