// What linear layers ask of their arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <zeropoint/layer/static_checks.hpp>

namespace zp {
inline namespace v0 {
namespace detail {

using v0::check_count;

/// The rows of `inputs` values in x, for which y must have room.
inline int rows_of(std::string_view layer, std::size_t x, std::size_t inputs, std::size_t y, std::size_t outputs,
                   std::size_t most) {
    const std::size_t rows = x / inputs;
    if (rows * inputs != x || rows == 0 || rows > most)
        raise<shape_error>(std::string(layer) + ": expected 1 to " + std::to_string(most) + " rows of " +
                           std::to_string(inputs) + " values, found " + std::to_string(x) + " values");
    check_count(layer, "outputs", rows * outputs, y);
    return static_cast<int>(rows);
}

}  // namespace detail
}  // namespace v0
}  // namespace zp
