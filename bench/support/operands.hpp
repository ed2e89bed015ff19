// SPDX-License-Identifier: BSD-3-Clause
// Made-up operands of the kernels, from distributions that matter: they decide which kernel a panel of weights can take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/kernel/geometry/conv2d.hpp>

namespace bench {

/// How the weights of a filter lie in [-128, 127]. Of Gaussian and Laplace weights the largest of each filter becomes
/// 127, as quantization per channel makes it; a filter of few weights is wider spread for that.
enum class weights { uniform, gaussian, laplace, four_bits };
inline constexpr weights all_weights[] = {weights::uniform, weights::gaussian, weights::laplace, weights::four_bits};
const char* name_of(weights distribution);

/// OHWI, the weights of one filter side by side.
std::vector<std::int8_t> make_weights(weights distribution, int filters, int depth);

/// Codes of activations over all of [codes.min, codes.max].
std::vector<std::uint8_t> make_activations(std::size_t count, zp::kernel::activation_codes codes);

inline constexpr zp::kernel::activation_codes eight_bits{.zero_point = 128, .min = 0, .max = 255};
inline constexpr zp::kernel::activation_codes seven_bits{.zero_point = 64, .min = 0, .max = 127};

}  // namespace bench
