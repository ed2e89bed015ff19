// SPDX-License-Identifier: BSD-3-Clause
// The oracle of what folds codes along axes, and of their lengths: definitions as loops, sharing nothing with the kernels but
// the rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/reference/elementwise.hpp>

namespace zp::inline v0::kernel::reference {

/// The values of `in` that belong to each position of `out`, whose extents are those of `in` or 1.
template <class X> std::vector<std::vector<X>> values_together(const shape& in, const shape& out, const X* x) {
    std::vector<std::vector<X>> all(static_cast<std::size_t>(out.size()));
    for (int h = 0; h != in.height; ++h)
        for (int w = 0; w != in.width; ++w)
            for (int c = 0; c != in.channels; ++c) {
                const int row = out.height == 1 ? 0 : h, column = out.width == 1 ? 0 : w;
                const int channel = out.channels == 1 ? 0 : c;
                all[static_cast<std::size_t>((row * out.width + column) * out.channels + channel)].push_back(
                    x[(h * in.width + w) * in.channels + c]);
            }
    return all;
}

/// y = rne(sum of (x - x_zero_point) * x_scale / (divisor * y_scale)) + y_zero_point within the bounds; in double, after an
/// exact integer sum.
template <class X, class Y>
void sum_axes(const shape& in, const shape& out, const X* x, const operand_grid& of_x, int divisor,
              const output_grid& of_y, Y* y) {
    for (const std::vector<X>& values : values_together(in, out, x)) {
        std::int64_t sum = 0;
        for (const X value : values) sum += value - of_x.zero_point;
        const double denominator = double{of_y.scale} * divisor;
        *y++ = static_cast<Y>(code_of(static_cast<double>(sum) * double{of_x.scale} / denominator, of_y));
    }
}

/// The largest of each, or the smallest; a NaN before both.
template <class X> void extremum_along(const shape& in, const shape& out, bool largest, const X* x, X* y) {
    for (const std::vector<X>& values : values_together(in, out, x)) {
        X best = values.front();
        for (const X value : values)
            if (value != value || (best == best && (largest ? value > best : value < best))) best = value;
        *y++ = best;
    }
}

/// With spread = n * (sum of x^2) - (sum of x)^2 in integers and q = spread / (n * (n - correction)):
///     y = clamp(rne(q * (x_scale^2 / y_scale)) + y_zero_point) for a variance,
///     y = clamp(rne(sqrt(q) * (x_scale / y_scale)) + y_zero_point) for its root,
/// each operation in double.
inline std::int32_t moment(const std::vector<std::int64_t>& values, bool root, int correction, float x_scale,
                           const output_grid& of_y) {
    const auto n = static_cast<std::int64_t>(values.size());
    std::int64_t sum = 0, squares = 0;
    for (const std::int64_t value : values) {
        sum += value;
        squares += value * value;
    }
    const double quotient =
        static_cast<double>(n * squares - sum * sum) / (static_cast<double>(n) * static_cast<double>(n - correction));
    if (root) return code_of(std::sqrt(quotient) * (double{x_scale} / of_y.scale), of_y);
    return code_of(quotient * (double{x_scale} * x_scale / of_y.scale), of_y);
}
template <class X, class Y>
void moments_along(const shape& in, const shape& out, bool root, int correction, const X* x, float x_scale,
                   const output_grid& of_y, Y* y) {
    for (const std::vector<X>& values : values_together(in, out, x))
        *y++ = static_cast<Y>(moment({values.begin(), values.end()}, root, correction, x_scale, of_y));
}

/// y = clamp(rne(product of (x - x_zero_point) * (x_scale^n / y_scale)) + y_zero_point), in double, for products that it
/// holds.
inline std::int32_t product(const std::vector<std::int64_t>& values, std::int32_t x_zero_point, float x_scale,
                            const output_grid& of_y) {
    double steps = 1, factor = 1 / double{of_y.scale};
    for (const std::int64_t value : values) {
        steps *= static_cast<double>(value - x_zero_point);
        factor *= double{x_scale};
    }
    return code_of(steps * factor, of_y);
}
template <class X, class Y>
void product_along(const shape& in, const shape& out, const X* x, std::int32_t x_zero_point, float x_scale,
                   const output_grid& of_y, Y* y) {
    for (const std::vector<X>& values : values_together(in, out, x))
        *y++ = static_cast<Y>(product({values.begin(), values.end()}, x_zero_point, x_scale, of_y));
}

/// y = clamp(rne(float(x - x_zero_point) * float(1 / y_scale) / float(sqrt(sum of (x - x_zero_point)^2))) +
/// y_zero_point) for one vector of `count` codes; 0 / 0 is 0.
template <class X, class Y>
void l2_normalize(const X* x, std::size_t count, std::int32_t x_zero_point, const output_grid& of_y, Y* y) {
    std::int64_t squares = 0;
    for (std::size_t i = 0; i != count; ++i) squares += std::int64_t{x[i] - x_zero_point} * (x[i] - x_zero_point);
    const auto length = static_cast<float>(std::sqrt(static_cast<double>(squares)));
    const auto steps = static_cast<float>(1 / double{of_y.scale});
    for (std::size_t i = 0; i != count; ++i) {
        const float scaled = float_product(static_cast<float>(x[i] - x_zero_point), steps);
        y[i] = static_cast<Y>(code_of(squares == 0 ? 0.0 : double{scaled / length}, of_y));
    }
}

}  // namespace zp::inline v0::kernel::reference
