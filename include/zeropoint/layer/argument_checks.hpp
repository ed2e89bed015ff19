// SPDX-License-Identifier: BSD-3-Clause
// Errors of layers that are used on their own: arguments and parameters that are not those a layer was made for.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/float_values.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp::inline v0 {

/// A shape_error where a count of parameters or values is another.
template <class = void>
void check_count(std::string_view layer, const char* what, std::size_t expected, std::size_t found) {
    if (expected != found)
        raise<shape_error>(std::string(layer) + ": expected " + std::to_string(expected) + " " + what + ", found " +
                           std::to_string(found));
}

namespace detail {

/// The rows of `inputs` values in x, for which y must have room.
template <class = void>
int rows_of(std::string_view layer, std::size_t x, std::size_t inputs, std::size_t y, std::size_t outputs,
            std::size_t most) {
    const std::size_t rows = x / inputs;
    if (rows * inputs != x || rows == 0 || rows > most)
        raise<shape_error>(std::string(layer) + ": expected 1 to " + std::to_string(most) + " rows of " +
                           std::to_string(inputs) + " values, found " + std::to_string(x) + " values");
    check_count(layer, "outputs", rows * outputs, y);
    return static_cast<int>(rows);
}

}  // namespace detail

/// A calibration_error where a parameter is not finite.
template <class = void> void check_finite(std::string_view layer, const char* what, std::span<const float> values) {
    for (const float value : values)
        if (!is_finite(value))
            raise<calibration_error>(std::string(layer) + ": expected finite values of " + what + ", found " +
                                     number_text(value));
}

/// A value_error for a scale or a zero point that no tensor of a dtype has.
template <class DType> void check_range(const char* layer, const char* which, const qparams& range) {
    if (!(range.scale > 0 && is_finite(range.scale)) || range.zero_point < DType::quant_min ||
        range.zero_point > DType::quant_max)
        raise<value_error>(std::string(layer) + ": expected a finite scale above 0 and a zero point from " +
                           std::to_string(DType::quant_min) + " to " + std::to_string(DType::quant_max) + " of the " +
                           which + ", found " + number_text(range.scale) + " and " + std::to_string(range.zero_point));
}

/// A shape_error or a value_error where a tensor's extents, or its scale and zero point, are others.
template <class View>
void check_tensor(const char* layer, const char* which, const shape& expected, const qparams& range, const View& view) {
    if (view.shape() != expected)
        raise<shape_error>(std::string(layer) + ": the " + which + " is " + to_string(expected) + ", but a tensor of " +
                           to_string(view.shape()) + " came");
    if (view.quantization != range)
        raise<value_error>(std::string(layer) + ": the " + which + " was made for scale " + number_text(range.scale) +
                           " and zero point " + std::to_string(range.zero_point) + ", but a tensor with " +
                           number_text(view.quantization.scale) + " and " +
                           std::to_string(view.quantization.zero_point) + " came");
}

}  // namespace zp::inline v0
