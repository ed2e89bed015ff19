// SPDX-License-Identifier: BSD-3-Clause
// Linear layers on their own: float, with activations that are quantized as they come, or with integer weights alone.
#pragma once

#include <zeropoint/layer/alone.hpp>
#include <zeropoint/operators/linear.hpp>

namespace zp::inline v0 {

/// y = linear(x) for up to MostRows rows of Inputs floats: weights are quantized once, activations in each call. Weights are
/// outputs x inputs, PyTorch's order; the bias may be left out.
///
///     const zp::dynamic_linear<256, 64> layer(weights, bias);   // packs once
///     zp::dynamic_linear<256, 64>::workspace memory;
///     layer(x, y, memory);                                      // spans of 256 and 64 floats
template <int Inputs, int Outputs, class Policy = dynamic_policy<>, class Arch = default_architecture, int MostRows = 1>
using dynamic_linear = alone<linear<"", Outputs>, Inputs, Policy, Arch, MostRows>;

/// The same in float.
template <int Inputs, int Outputs, class Arch = default_architecture, int MostRows = 1>
using float_linear = alone<linear<"", Outputs>, Inputs, float_policy, Arch, MostRows>;

/// The same with weights of 8 or 4 bits, kernel::weight_only_product: a quarter or an eighth of a float layer's bytes,
/// activations untouched.
template <int Inputs, int Outputs, class Policy = weight_only_policy<>, class Arch = default_architecture,
          int MostRows = 1>
using weight_only_linear = alone<linear<"", Outputs>, Inputs, Policy, Arch, MostRows>;

}  // namespace zp::inline v0
