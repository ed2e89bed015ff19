// SPDX-License-Identifier: BSD-3-Clause
// Float operations on the bits, where a compiler option could otherwise change a result.
#pragma once

#include <bit>
#include <cstdint>

#include <zeropoint/core/float_values.hpp>

namespace zp::inline v0 {

/// 2^exponent, for exponents of normal doubles: -1022 to 1023.
constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// a * b rounded to float, whatever is done with it afterwards. A compiler that contracts turns `a * b + c` into one
/// operation with one rounding; here the product is exact in double and rounded to 24 bits as an integer, which leaves
/// nothing to contract. (Two floats multiplied in double need no such care: their product is exact, fused or not.)
constexpr float rounded_product(float a, float b) {
    auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(a) * static_cast<double>(b));
    bits += 0x0fffffffu + (bits >> 29 & 1);
    bits &= ~std::uint64_t{0x1fffffff};
    return static_cast<float>(std::bit_cast<double>(bits));
}

}  // namespace zp::inline v0
