// SPDX-License-Identifier: BSD-3-Clause
// What the tests of elementwise kernels share: architectures to run on, reproducible values, lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>

#include "extent.hpp"
#include "generator.hpp"

namespace arrays {

/// Calls `test.template operator()<Arch>()` for the vectors of this build, and for plain C++.
template <class Test> void for_each_architecture(Test test) {
    test.template operator()<zp::default_architecture>();
    if constexpr (zp::has_vectors<zp::default_architecture> && !zp_test::one_architecture)
        test.template operator()<zp::portable>();
}

using zp_test::generator;

inline std::vector<float> reals(std::size_t count, std::uint64_t seed, float low = -4.0f, float high = 4.0f) {
    generator next(seed);
    std::vector<float> values(count);
    for (float& value : values) value = next.real(low, high);
    return values;
}

/// Codes over the whole range of T, about one in four at an end of it.
template <class T> std::vector<T> codes(std::size_t count, std::uint64_t seed) {
    generator next(seed);
    std::vector<T> values(count);
    const int lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    for (T& value : values) {
        const int kind = next.integer(0, 7);
        value = static_cast<T>(kind == 0 ? lowest : kind == 1 ? highest : next.integer(lowest, highest));
    }
    return values;
}

/// All pairs of codes of T: the first or the second of each.
template <class T> std::vector<T> every_pair(bool first) {
    std::vector<T> values(65536);
    for (std::size_t i = 0; i != values.size(); ++i) values[i] = static_cast<T>(first ? i / 256 : i % 256);
    return values;
}

/// Scale and zero point of one operand.
struct grid {
    float scale;
    std::int32_t zero_point;
};

/// Equality of bits: tells -0 from +0, and a NaN equals itself.
template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace arrays
