// SPDX-License-Identifier: BSD-3-Clause
// Products of NHWC images along any of their axes, which stay as extents of 1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/epilogue/scales.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/reduction/axis_sums.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>

namespace zp::inline v0::kernel {

/// mantissa * 2^(300 * exponent): a product of any number of factors, where a double would overflow.
struct extended_product {
    double mantissa = 1;  ///< 0, or from 2^-300 to 2^300
    std::int64_t exponent = 0;

    /// By a finite number, itself 0 or from 2^-300 to 2^300. One rounding.
    constexpr void multiply(double factor) {
        mantissa *= factor;
        const double size = mantissa < 0 ? -mantissa : mantissa;
        if (size > 0x1p300) mantissa *= 0x1p-300, ++exponent;
        if (size < 0x1p-300) mantissa *= 0x1p300, --exponent;
    }
    /// As a double, exactly from 2^-300 to 2^300; what is beyond remains beyond.
    constexpr double value() const {
        double result = mantissa;
        for (std::int64_t i = std::min<std::int64_t>(exponent, 2); i > 0; --i) result *= 0x1p300;
        for (std::int64_t i = std::max<std::int64_t>(exponent, -3); i < 0; ++i) result *= 0x1p-300;
        return result;
    }
    constexpr bool operator==(const extended_product&) const = default;
};

/// What product_along() needs: make_product_parameters() computes it.
struct product_parameters {
    extended_product factor;  ///< x_scale^count / y_scale
    std::int32_t x_zero_point = 0, y_zero_point = 0, quant_min = 0, quant_max = 255;
    constexpr bool operator==(const product_parameters&) const = default;
};

/// Of `count` codes. A fused clamp only narrows [quant_min, quant_max]. Raises value_error where a scale is not a finite
/// number above zero.
constexpr product_parameters make_product_parameters(int count, float x_scale, std::int32_t x_zero_point, float y_scale,
                                                     std::int32_t y_zero_point, std::int32_t quant_min,
                                                     std::int32_t quant_max) {
    require_scales("product", {x_scale, y_scale});
    product_parameters made{{}, x_zero_point, y_zero_point, quant_min, quant_max};
    made.factor.multiply(1 / double{y_scale});
    for (int i = 0; i != count; ++i) made.factor.multiply(double{x_scale});
    return made;
}

/// y = the product of scale * (x - x_zero_point) along each axis whose extent in `out` is 1, on the output's grid:
/// rne(clamp(product of x - x_zero_point, times the factor)) + y_zero_point. The product is one of doubles, in the order of
/// rows, columns and channels: exact up to 2^53, before its rounding within (2 * count + 1) * 2^-53 of itself. `out` has
/// the extents of `in` on all other axes. y may not be x.
template <class Arch, code8 X, code8 Y>
void product_along(const shape& in, const shape& out, const X* x, const product_parameters& p, Y* y) noexcept {
    const reduction_extents e(in, out);
    const int together = e.out.channels != e.in.channels ? e.in.channels : 1;
    const double low = double(p.quant_min - p.y_zero_point), high = double(p.quant_max - p.y_zero_point);
    for_each_fold(e, x, y, [&](const pool_window<X>& window, Y* to) {
        for (int c = 0; c != e.out.channels; ++c) {
            extended_product product;
            window.for_each_position([&](const X* from) {
                for (int k = 0; k != together; ++k) product.multiply(double(from[c + k] - p.x_zero_point));
            });
            product.multiply(p.factor.mantissa);
            product.exponent += p.factor.exponent;
            to[c] = static_cast<Y>(round_half_even(std::clamp(product.value(), low, high)) + p.y_zero_point);
        }
    });
}

/// The same for floats: y = min(max(product, low), high), in double and in the same order; what no float holds becomes
/// infinite or zero, and a NaN or an infinity among the factors does what it does in a product.
template <class Arch>
void product_along(const shape& in, const shape& out, float low, float high, const float* x, float* y) noexcept {
    const reduction_extents e(in, out);
    const int together = e.out.channels != e.in.channels ? e.in.channels : 1;
    for_each_fold(e, x, y, [&](const pool_window<float>& window, float* to) {
        for (int c = 0; c != e.out.channels; ++c) {
            extended_product product;
            window.for_each_position([&](const float* from) {
                for (int k = 0; k != together; ++k) product.multiply(double{from[c + k]});
            });
            to[c] = bounded_value(static_cast<float>(product.value()), low, high);
        }
    });
}

}  // namespace zp::inline v0::kernel
