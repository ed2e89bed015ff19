// SPDX-License-Identifier: BSD-3-Clause
// Bands of the input as tiles read them: padded, widened or made unsigned, one copy in place of an im2col buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/kernel/arch/operations.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

// A band is the input under a few output rows:
//
//        |<------------------- row_pitch ------------------->|
//        | pad |  pixel 0   |  pixel 1   |  ...        | pad |    pixel_pitch elements a pixel, in.channels of them used
//
// The window of an output is kernel_height rows of it. Neighbouring windows overlap in place, which is what im2col
// would copy.

namespace zp::inline v0::kernel {

/// Where pixels lie in a band. Distances are in elements of the staged type.
struct band_layout {
    int row_step = 1, column_step = 1;      ///< input rows and columns from one staged one to the next
    int row_stride = 1, column_stride = 1;  ///< staged rows and columns from the window of one output to the next
    int columns = 1;                        ///< staged pixels of a row
    std::ptrdiff_t pixel_pitch = 0, row_pitch = 0;
    bool staged = true;  ///< a copy; else the input itself

    /// Staged rows under a number of output rows.
    constexpr std::ptrdiff_t rows(const conv2d_geometry& g, int output_rows) const {
        return std::ptrdiff_t{output_rows - 1} * row_stride + g.window_height();
    }
};

/// Bytes of scratch that a band should stay within, so that it stays in a core's cache beside a panel of weights.
inline constexpr std::ptrdiff_t band_bytes = 96 * 1024;
/// The same of an architecture that has another number. Where products are fast beside the second-level cache, the weights, which all
/// come once a band, should come seldom.
template <class Arch> constexpr std::ptrdiff_t band_bytes_of() {
    if constexpr (requires { operations<Arch>::band_bytes; }) return operations<Arch>::band_bytes;
    else return band_bytes;
}
/// Output pixels that a band should have at least, so that a panel of weights is not read for a few rows only.
inline constexpr int band_pixels = 48;
/// Elements behind the last pixel that vector loads may touch (their weights are zero, or their lanes unused).
inline constexpr std::ptrdiff_t band_slack = 64;

/// From a row of `length` values to the next one: rows of a tile at a multiple of 1024 bytes would share the sets of the
/// first-level cache.
constexpr std::ptrdiff_t spread_pitch(std::ptrdiff_t length, std::ptrdiff_t element_size) {
    return length + (length * element_size % 1024 == 0 ? 64 / element_size : 0);
}

/// The layout of a staged band whose elements have `element_size` bytes. Strided kernels one tap high (wide) skip the
/// rows (columns) that no window reads.
constexpr band_layout staged_layout(const conv2d_geometry& g, std::ptrdiff_t element_size) {
    band_layout layout;
    layout.row_step = g.kernel_height == 1 ? g.stride_height : 1;
    layout.column_step = g.kernel_width == 1 ? g.stride_width : 1;
    layout.row_stride = g.kernel_height == 1 ? 1 : g.stride_height;
    layout.column_stride = g.kernel_width == 1 ? 1 : g.stride_width;
    layout.columns = (g.out.width - 1) * layout.column_stride + g.window_width();
    layout.pixel_pitch = spread_pitch(g.in.channels, element_size);
    layout.row_pitch = layout.columns * layout.pixel_pitch;
    return layout;
}

/// The layout of the input itself, for windows that never leave it.
constexpr band_layout input_layout(const conv2d_geometry& g) {
    band_layout layout;
    layout.row_stride = g.stride_height;
    layout.column_stride = g.stride_width;
    layout.columns = g.in.width;
    layout.pixel_pitch = g.in.channels;
    layout.row_pitch = layout.columns * layout.pixel_pitch;
    layout.staged = false;
    return layout;
}

/// The most output rows that a band of at most `most_bytes`, of elements of `element_size` bytes, has, of so many rows or fewer.
constexpr int most_band_rows(const conv2d_geometry& g, const band_layout& layout, std::ptrdiff_t most_bytes,
                             std::ptrdiff_t element_size = sizeof(std::int16_t)) {
    const std::ptrdiff_t row_bytes = layout.row_pitch * element_size;
    if (layout.rows(g, g.out.height) * row_bytes <= most_bytes) return g.out.height;
    const std::ptrdiff_t fitting = (most_bytes / row_bytes - g.window_height()) / layout.row_stride + 1;
    const std::ptrdiff_t wanted = std::max<std::ptrdiff_t>(fitting, (band_pixels + g.out.width - 1) / g.out.width);
    return static_cast<int>(std::min<std::ptrdiff_t>(std::max<std::ptrdiff_t>(wanted, 1), g.out.height));
}

/// Output rows of one band, all bands being nearly equal. Staged bands of bytes have as many as those of words.
constexpr int band_output_rows(const conv2d_geometry& g, const band_layout& layout, std::ptrdiff_t most_bytes,
                               std::ptrdiff_t element_size = sizeof(std::int16_t)) {
    const int most = most_band_rows(g, layout, most_bytes, element_size);
    const int bands = (g.out.height + most - 1) / most;
    return (g.out.height + bands - 1) / bands;
}

/// Bytes of one staged band.
constexpr std::size_t band_scratch_bytes(const conv2d_geometry& g, const band_layout& layout, int output_rows,
                                         std::size_t element_size = sizeof(std::int16_t)) {
    const std::ptrdiff_t elements = layout.rows(g, output_rows) * layout.row_pitch + band_slack;
    return align_up(static_cast<std::size_t>(elements) * element_size);
}

/// What depthwise.hpp adds to a code so that it is unsigned, which is its sign bit flipped.
constexpr std::int32_t unsigned_shift(activation_codes codes) {
    return codes.min < 0 && !codes.are_int16() ? 128 : 0;  // words are multiplied as they are
}
/// What makes codes unsigned by as little as can be, because a range that begins at 0 is the narrowest.
constexpr std::int32_t zero_based_shift(activation_codes codes) {
    return codes.min < 0 ? -std::min(codes.min, codes.zero_point) : 0;
}
/// What centered codes are relative to: int8 codes are as they are.
constexpr std::int32_t center(activation_codes codes) { return codes.min < 0 ? 0 : 128; }

/// What bands of bytes add to codes, for dot4.
template <class Arch> constexpr std::int32_t staged_shift(activation_codes codes) {
    if constexpr (operations<Arch>::quads != quad_products::exact_signed) return zero_based_shift(codes);
    else return std::max(codes.max, codes.zero_point) > 127 ? -128 : 0;
}

/// Codes as the int16 difference from the zero point, in [-255, 255]; codes of 16 bits, whose zero point is 0, as they are.
template <class Arch, class In>
[[gnu::always_inline]] inline void stage_pixels(const In* from, std::ptrdiff_t count,
                                                [[maybe_unused]] activation_codes codes, std::int16_t* to) {
    if constexpr (sizeof(In) == 2) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(In));
    else operations<Arch>::widen(from, count, codes.zero_point, to);
}
template <class Arch>
[[gnu::always_inline]] inline void stage_border(std::ptrdiff_t count, activation_codes, std::int16_t* to) {
    std::fill_n(to, count, std::int16_t{0});
}

/// Codes as bytes, the bits of what dot4 takes.
template <class Arch, class In>
[[gnu::always_inline]] inline void stage_pixels(const In* from, std::ptrdiff_t count, activation_codes codes,
                                                std::uint8_t* to) {
    const auto shift = static_cast<std::uint8_t>(staged_shift<Arch>(codes));
    if (shift == 0) {
        std::memcpy(to, from, static_cast<std::size_t>(count));
        return;
    }
    std::ptrdiff_t i = 0;
    if constexpr (operations<Arch>::has_batches) {
        using bytes = typename operations<Arch>::uint8;
        constexpr auto size = static_cast<std::ptrdiff_t>(bytes::size);
        for (; i + size <= count; i += size) {
            (bytes::load_unaligned(reinterpret_cast<const std::uint8_t*>(from + i)) + bytes(shift))
                .store_unaligned(to + i);
        }
    }
    for (; i < count; ++i) to[i] = static_cast<std::uint8_t>(from[i] + shift);
}
template <class Arch>
[[gnu::always_inline]] inline void stage_border(std::ptrdiff_t count, activation_codes codes, std::uint8_t* to) {
    std::memset(to, codes.zero_point + staged_shift<Arch>(codes), static_cast<std::size_t>(count));
}

/// Centered codes as signed_quads take them: magnitudes, and flips `flips` bytes behind them.
struct signed_bytes {
    std::uint8_t* magnitudes;
    std::ptrdiff_t flips;

    constexpr signed_bytes operator+(std::ptrdiff_t n) const { return {magnitudes + n, flips}; }
    constexpr signed_bytes& operator+=(std::ptrdiff_t n) { return *this = *this + n; }
};
template <class Arch, class In>
[[gnu::always_inline]] inline void stage_pixels(const In* from, std::ptrdiff_t count, activation_codes codes,
                                                signed_bytes to) {
    operations<Arch>::split_signs(reinterpret_cast<const std::uint8_t*>(from), count,
                                  static_cast<std::uint8_t>(center(codes)), to.magnitudes, to.magnitudes + to.flips);
}
template <class Arch>
[[gnu::always_inline]] inline void stage_border(std::ptrdiff_t count, activation_codes codes, signed_bytes to) {
    const std::int32_t zero = codes.zero_point - center(codes);
    std::memset(to.magnitudes, zero < 0 ? -zero : zero, static_cast<std::size_t>(count));
    std::memset(to.magnitudes + to.flips, zero < 0 ? 0xff : 0, static_cast<std::size_t>(count));
}

/// Fills a band with the input under output rows [first, first + count). `Staged` is a pointer, or signed_bytes.
template <class Arch, class In, class Staged>
[[gnu::noinline]] void stage_band(const conv2d_geometry& g, const band_layout& layout, int first, int count,
                                  const In* x, activation_codes codes, Staged band) noexcept {
    // Staged columns left of the input, inside it and right of it.
    const int left = std::clamp((g.padding_left + layout.column_step - 1) / layout.column_step, 0, layout.columns);
    const int reach = (g.in.width + g.padding_left + layout.column_step - 1) / layout.column_step;
    const int inside = std::max(std::min(reach, layout.columns) - left, 0);
    const int right = layout.columns - left - inside;
    const std::ptrdiff_t channels = g.in.channels;
    const bool dense = layout.column_step == 1 && layout.pixel_pitch == channels;
    const bool whole_rows = dense && layout.row_step == 1 && layout.columns == g.in.width && g.padding_left == 0;

    const std::ptrdiff_t rows = layout.rows(g, count);
    for (std::ptrdiff_t row = 0, at_once = 1; row != rows; row += at_once, band += at_once * layout.row_pitch) {
        at_once = 1;
        const std::ptrdiff_t y = first * g.stride_height + row * layout.row_step - g.padding_top;
        if (y < 0 || y >= g.in.height) {
            stage_border<Arch>(layout.row_pitch, codes, band);
            continue;
        }
        if (whole_rows) {
            at_once = std::min(rows - row, g.in.height - y);
            stage_pixels<Arch>(x + y * layout.row_pitch, at_once * layout.row_pitch, codes, band);
            continue;
        }
        stage_border<Arch>(left * layout.pixel_pitch, codes, band);
        const In* from = x + (y * g.in.width + left * layout.column_step - g.padding_left) * channels;
        const Staged to = band + left * layout.pixel_pitch;
        if (dense) {
            stage_pixels<Arch>(from, inside * channels, codes, to);
        } else {
            for (int i = 0; i != inside; ++i) {
                stage_pixels<Arch>(from + i * layout.column_step * channels, channels, codes,
                                   to + i * layout.pixel_pitch);
            }
        }
        stage_border<Arch>(right * layout.pixel_pitch, codes, to + inside * layout.pixel_pitch);
    }
}

/// Where the window of each output pixel of a band begins, row by row.
template <class Arch>
void list_windows(const conv2d_geometry& g, const band_layout& layout, int output_rows,
                  std::int32_t* offsets) noexcept {
    using ops = operations<Arch>;
    const std::ptrdiff_t step = layout.column_stride * layout.pixel_pitch;
    constexpr int lanes = ops::has_batches ? ops::lanes : 1;  // g++ at -O2 takes two cycles for one offset
    std::int32_t first[lanes];
    for (int i = 0; i != lanes; ++i) first[i] = static_cast<std::int32_t>(i * step);
    for (int row = 0; row != output_rows; ++row) {
        const std::ptrdiff_t begin = row * layout.row_stride * layout.row_pitch;
        int column = 0;
        if constexpr (ops::has_batches) {
            auto next = ops::template load<typename ops::int32>(first);
            ops::add(next, static_cast<std::int32_t>(begin));
            for (; column + lanes <= g.out.width; column += lanes, offsets += lanes) {
                ops::store(offsets, next);
                ops::add(next, static_cast<std::int32_t>(lanes * step));
            }
        }
        for (; column < g.out.width; ++column) *offsets++ = static_cast<std::int32_t>(begin + column * step);
    }
}

}  // namespace zp::inline v0::kernel
