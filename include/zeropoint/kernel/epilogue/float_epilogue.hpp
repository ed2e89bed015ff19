// SPDX-License-Identifier: BSD-3-Clause
// What products do to their floats while these are in registers, by name: kernel/dynamic/post_activation.hpp has the arithmetic.
#pragma once

#include <cstdint>

namespace zp::inline v0 {

/// bounds: min(max(x, low), high), low of NaN; gelu: PyTorch's, by erf; addend: another value is added.
enum class float_epilogue : std::uint8_t { none, bounds, gelu, addend };

}  // namespace zp::inline v0
