// SPDX-License-Identifier: BSD-3-Clause
// Operators on two float arrays: the float twins of the binary operators on codes.
#pragma once

#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/elementwise/max_min.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// What float_binary() computes: stateless, of two floats or two vectors. maximum and minimum are larger_of and
/// smaller_of.
namespace binary {

struct add {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        return a + b;
    }
};
struct sub {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        return a - b;
    }
};
struct mul {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        return a * b;
    }
};
/// IEEE 754's quotient: x / 0 is an infinity, 0 / 0 a NaN.
struct div {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        return divide_numbers(a, b);
    }
};
struct squared_difference {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        const Value difference = a - b;
        return difference * difference;
    }
};
/// sqrt(a^2 + b^2), each square and the sum rounded: infinite where a square is, above 1.8e19.
struct hypot {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        return root_of_number(Value(rounded(Value(a * a)) + rounded(Value(b * b))));
    }
};
using maximum = larger_of;
using minimum = smaller_of;

}  // namespace binary

/// y[i] = min(max(function(a[i], b[i]), low), high) for `count` floats, `Function` one of namespace binary; low and high
/// are a fused activation's bounds, -infinity and infinity for none. A NaN stays one. y may be a or b.
template <class Arch, class Function>
void float_binary(const float* a, const float* b, std::size_t count, float low, float high, float* y) noexcept {
    const auto bounded = [ low, high ](const auto& x, const auto& z) __attribute__((always_inline)) {
        return bounded_value(Function{}(x, z), low, high);
    };
    map_values<ieee_vectors<Arch>>(count, y, bounded, a, b);
}

}  // namespace zp::inline v0::kernel
