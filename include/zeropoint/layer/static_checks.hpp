// Errors of layers that are used on their own: tensors and parameters that are not those a layer was made for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/scheme/qparams.hpp>

namespace zp {
inline namespace v0 {

/// A shape_error where a count of parameters or values is another.
inline void check_count(std::string_view layer, const char* what, std::size_t expected, std::size_t found) {
    if (expected != found)
        raise<shape_error>(std::string(layer) + ": expected " + std::to_string(expected) + " " + what + ", found " +
                           std::to_string(found));
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

}  // namespace v0
}  // namespace zp
