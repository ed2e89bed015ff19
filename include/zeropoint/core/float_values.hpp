// SPDX-License-Identifier: BSD-3-Clause
// Infinities and NaN by their bits: under -ffast-math compilers take std::isfinite for true, and Clang warns of each
// std::numeric_limits<float>::infinity().
#pragma once

#include <bit>
#include <cstdint>

namespace zp::inline v0 {

/// Neither NaN nor an infinity; unlike std::isfinite it is constexpr and holds under -ffast-math.
constexpr bool is_finite(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u; }
constexpr bool is_finite(double x) {
    return (std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull;
}

/// Of float, as is the bound of a clamp that has none.
inline constexpr float infinity = std::bit_cast<float>(0x7f800000u);
inline constexpr double double_infinity = std::bit_cast<double>(0x7ff0000000000000ull);
inline constexpr float not_a_number = std::bit_cast<float>(0x7fc00000u);  // a quiet NaN, of float

}  // namespace zp::inline v0
