// The oracle of add, mul, pooling and concatenation on codes: their integer definitions as loops, sharing nothing with
// the kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {
namespace reference {

/// One quantized sum. With r_a = double(a_scale) / y_scale, r_b likewise, and the shift s for which max(r_a, r_b) * 2^s
/// lies in [2^21, 2^22), or s = 30 where that would be more:
///     sum = rne(r_a * 2^s) * (a - a_zero_point) + rne(r_b * 2^s) * (b - b_zero_point)
///     y = clamp(rne(sum / 2^s) + y_zero_point, quant_min, quant_max)
inline std::int32_t add(std::int32_t a, float a_scale, std::int32_t a_zero_point, std::int32_t b, float b_scale,
                        std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point, std::int32_t quant_min,
                        std::int32_t quant_max) {
    const double ratio_a = double{a_scale} / y_scale, ratio_b = double{b_scale} / y_scale;
    double power = 1;
    int shift = 0;
    while (shift < 30 && std::max(ratio_a, ratio_b) * power < 0x1p21) power *= 2, ++shift;
    const std::int64_t sum = round_half_even(ratio_a * power) * (std::int64_t{a} - a_zero_point) +
                             round_half_even(ratio_b * power) * (std::int64_t{b} - b_zero_point);
    const std::int64_t code = divide_half_even(sum, std::int64_t{1} << shift) + y_zero_point;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, quant_min, quant_max));
}

/// One quantized product: y = clamp(rne(float((a - a_zero_point) * (b - b_zero_point)) * m) + y_zero_point, quant_min,
/// quant_max), where m is the float next to double(a_scale) * b_scale / y_scale. The product of a 17-bit integer and a
/// float is exact in double; becoming a float is its one rounding.
inline std::int32_t mul(std::int32_t a, float a_scale, std::int32_t a_zero_point, std::int32_t b, float b_scale,
                        std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point, std::int32_t quant_min,
                        std::int32_t quant_max) {
    const double multiplier = static_cast<float>(double{a_scale} * b_scale / y_scale);
    const auto scaled = static_cast<float>((a - a_zero_point) * (b - b_zero_point) * multiplier);
    const double code = static_cast<double>(std::clamp(scaled, -1e6f, 1e6f));
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(round_half_even(code) + y_zero_point, quant_min, quant_max));
}

/// y = the largest code of each window; positions outside the input never win. x and y are NHWC with equal channels.
template <class T> void max_pool2d(const conv2d_geometry& g, const T* x, T* y) {
    for (int row = 0; row != g.out.height; ++row) {
        for (int column = 0; column != g.out.width; ++column) {
            for (int c = 0; c != g.out.channels; ++c) {
                T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                              : std::numeric_limits<T>::lowest();
                for (int ky = 0; ky != g.kernel_height; ++ky) {
                    for (int kx = 0; kx != g.kernel_width; ++kx) {
                        const int iy = row * g.stride_height - g.padding_top + ky * g.dilation_height;
                        const int ix = column * g.stride_width - g.padding_left + kx * g.dilation_width;
                        if (iy < 0 || iy >= g.in.height || ix < 0 || ix >= g.in.width) continue;
                        best = std::max(best, x[(std::ptrdiff_t{iy} * g.in.width + ix) * g.in.channels + c]);
                    }
                }
                *y++ = best;
            }
        }
    }
}

/// y = rne(sum over the window of (x - zero_point) / n) + zero_point, exact in integers. n counts the positions of the
/// window that lie in the input, or with `count_include_pad` those in the input extended by the padding on every side
/// (PyTorch's rule: a window that ceil_mode lets hang over that is clipped to it). The padding is real zero.
template <class T>
void avg_pool2d(const conv2d_geometry& g, bool count_include_pad, std::int32_t zero_point, const T* x, T* y) {
    for (int row = 0; row != g.out.height; ++row) {
        for (int column = 0; column != g.out.width; ++column) {
            for (int c = 0; c != g.out.channels; ++c) {
                std::int64_t sum = 0, n = 0;
                for (int ky = 0; ky != g.kernel_height; ++ky) {
                    for (int kx = 0; kx != g.kernel_width; ++kx) {
                        const int iy = row * g.stride_height - g.padding_top + ky;
                        const int ix = column * g.stride_width - g.padding_left + kx;
                        const bool inside = iy >= 0 && iy < g.in.height && ix >= 0 && ix < g.in.width;
                        const bool padded = iy < g.in.height + g.padding_top && ix < g.in.width + g.padding_left;
                        if (inside) sum += x[(std::ptrdiff_t{iy} * g.in.width + ix) * g.in.channels + c] - zero_point;
                        if (inside || (count_include_pad && padded)) ++n;
                    }
                }
                *y++ = static_cast<T>((n == 0 ? 0 : divide_half_even(sum, n)) + zero_point);
            }
        }
    }
}

/// y = rne(sum over the cell of (x - zero_point) / n) + zero_point, where output row r averages the input rows from
/// floor(r * in.height / out.height) up to ceil((r + 1) * in.height / out.height), columns likewise (PyTorch's rule).
template <class T>
void adaptive_avg_pool2d(const shape& in, const shape& out, std::int32_t zero_point, const T* x, T* y) {
    for (int row = 0; row != out.height; ++row) {
        for (int column = 0; column != out.width; ++column) {
            for (int c = 0; c != out.channels; ++c) {
                std::int64_t sum = 0, n = 0;
                for (int iy = row * in.height / out.height; iy * out.height < (row + 1) * in.height; ++iy) {
                    for (int ix = column * in.width / out.width; ix * out.width < (column + 1) * in.width; ++ix) {
                        sum += x[(std::ptrdiff_t{iy} * in.width + ix) * in.channels + c] - zero_point;
                        ++n;
                    }
                }
                *y++ = static_cast<T>(divide_half_even(sum, n) + zero_point);
            }
        }
    }
}

/// y[pixel][c] = x[pixel][c] for the channels of one input among the `out_channels` of a concatenation; y points at its
/// first channel in the first pixel. Codes that need another grid go through a table first.
template <class T>
void copy_channels(const T* x, std::size_t pixels, std::size_t in_channels, T* y, std::size_t out_channels) {
    for (std::size_t pixel = 0; pixel != pixels; ++pixel)
        for (std::size_t c = 0; c != in_channels; ++c) y[pixel * out_channels + c] = x[pixel * in_channels + c];
}

}  // namespace reference
}  // namespace kernel
}  // namespace v0
}  // namespace zp
