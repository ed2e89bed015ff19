// SPDX-License-Identifier: BSD-3-Clause
// The oracle of resizing: every output by its formula, sharing only the names of the rules with the kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/geometry/resize_axis.hpp>

namespace zp::inline v0::kernel::reference {

/// The input that PyTorch's and TFLite's nearest takes, in float as they compute it.
inline int nearest_source(resize_rule rule, int i, int in, int out) {
    if (rule == resize_rule::align_corners && out > 1) {
        const float scale = static_cast<float>(in - 1) / static_cast<float>(out - 1);
        return std::min(static_cast<int>(std::round(static_cast<float>(i) * scale)), in - 1);
    }
    const float scale = static_cast<float>(in) / static_cast<float>(out);
    if (rule == resize_rule::align_corners)
        return std::min(static_cast<int>(std::round(static_cast<float>(i) * scale)), in - 1);
    const float offset = rule == resize_rule::half_pixel ? 0.5f : 0.0f;
    return std::min(static_cast<int>(std::floor((static_cast<float>(i) + offset) * scale)), in - 1);
}

template <class T> void interpolate_nearest(resize_rule rule, const shape& in, const shape& out, const T* x, T* y) {
    for (int h = 0; h != out.height; ++h)
        for (int w = 0; w != out.width; ++w)
            for (int c = 0; c != out.channels; ++c) {
                const int from_h = nearest_source(rule, h, in.height, out.height);
                const int from_w = nearest_source(rule, w, in.width, out.width);
                *y++ = x[(std::ptrdiff_t{from_h} * in.width + from_w) * in.channels + c];
            }
}

/// A position on an axis as a fraction, clamped to the axis.
struct fraction {
    std::int64_t numerator, denominator;
};
/// The axis is resized by p / q, which is out / in unless a scale factor is given.
inline fraction linear_source(resize_rule rule, int i, int in, int out, std::int64_t p, std::int64_t q) {
    fraction at{i * q, p};
    if (rule == resize_rule::half_pixel) at = {(2 * i + 1) * q - p, 2 * p};
    if (rule == resize_rule::align_corners)
        at = out > 1 ? fraction{std::int64_t{i} * (in - 1), out - 1} : fraction{0, 1};
    return {std::clamp<std::int64_t>(at.numerator, 0, (in - 1) * at.denominator), at.denominator};
}

/// y = rne(sum over the four neighbours of weight * (x - zero_point)) + zero_point, weights as exact fractions.
template <class T>
void interpolate_bilinear(resize_rule rule, const shape& in, const shape& out, fraction height_factor,
                          fraction width_factor, std::int32_t zero_point, const T* x, T* y) {
    for (int h = 0; h != out.height; ++h)
        for (int w = 0; w != out.width; ++w)
            for (int c = 0; c != out.channels; ++c) {
                const fraction v =
                    linear_source(rule, h, in.height, out.height, height_factor.numerator, height_factor.denominator);
                const fraction u =
                    linear_source(rule, w, in.width, out.width, width_factor.numerator, width_factor.denominator);
                std::int64_t sum = 0;
                for (std::int64_t row = 0; row != in.height; ++row)
                    for (std::int64_t column = 0; column != in.width; ++column) {
                        // The weight of an input falls from 1 at its place to 0 at its neighbours.
                        const std::int64_t row_weight = v.denominator - std::abs(v.numerator - row * v.denominator);
                        const std::int64_t column_weight =
                            u.denominator - std::abs(u.numerator - column * u.denominator);
                        if (row_weight <= 0 || column_weight <= 0) continue;
                        sum +=
                            row_weight * column_weight * (x[(row * in.width + column) * in.channels + c] - zero_point);
                    }
                *y++ = static_cast<T>(divide_half_even(sum, v.denominator * u.denominator) + zero_point);
            }
}

}  // namespace zp::inline v0::kernel::reference
