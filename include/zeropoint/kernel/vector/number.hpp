// SPDX-License-Identifier: BSD-3-Clause
// A number that is a float or a vector of floats: what functions are written over once, for vectors and for what is left.
#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

namespace zp::inline v0::kernel {

template <class Number> [[gnu::always_inline]] inline Number divide_numbers(const Number& a, const Number& b) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) return a / b;
    else return divide(a, b);
}
template <class Number> [[gnu::always_inline]] inline Number root_of_number(const Number& x) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) return std::sqrt(x);
    else return square_root(x);
}
template <class Condition, class Number>
[[gnu::always_inline]] inline Number choose_number(const Condition& condition, const Number& a,
                                                   const Number& b) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) return condition ? a : b;
    else return xsimd::select(condition, a, b);
}

/// Whether minps and maxps are there, which give their second operand where one is a NaN: what xsimd's min and max of (x, limit)
/// are on x86, x.
template <class Number> inline constexpr bool limits_keep_nan = false;
template <class Arch>
inline constexpr bool limits_keep_nan<xsimd::batch<float, Arch>> =
    std::is_base_of_v<xsimd::sse2, Arch> || std::is_base_of_v<xsimd::avx, Arch> ||
    std::is_base_of_v<xsimd::avx512f, Arch>;
/// x within [-limit, limit]; a NaN stays one.
template <class Number> [[gnu::always_inline]] inline Number within(const Number& x, const Number& limit) noexcept {
    if constexpr (limits_keep_nan<Number>) {
        return xsimd::max(xsimd::min(x, limit), -limit);
    } else {
        const Number below = choose_number(x > limit, limit, x);
        return choose_number(below < -limit, Number(-limit), below);
    }
}

/// coefficients[0] + coefficients[1] * x + ..., each product and each sum rounded.
template <class Number, int Count>
[[gnu::always_inline]] inline Number polynomial(const Number& x, const float (&coefficients)[Count]) noexcept {
    Number sum(coefficients[Count - 1]);
#pragma GCC unroll 16
    for (int i = Count - 2; i >= 0; --i) sum = rounded(Number(sum * x)) + Number(coefficients[i]);
    return sum;
}

/// Calls body(i, number) for i in [0, count), `number` being a vector type where that many values are left, else float. Of 512 bits
/// half a vector, too, for a body that takes another size than Arch's: of 24 units of a recurrent layer eight would be left.
template <class Arch, bool InHalves = false, class Body>
[[gnu::always_inline]] inline void for_each_number(std::size_t count, Body&& body) {
    std::size_t i = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using floats = xsimd::batch<float, Arch>;
        for (const std::size_t whole = count - count % floats::size; i != whole; i += floats::size) body(i, floats());
        if constexpr (InHalves && std::is_base_of_v<xsimd::avx512f, Arch>) {
            using half = xsimd::batch<float, narrower_architecture<Arch>>;
            if (count - i >= half::size) {
                body(i, half());
                i += half::size;
            }
        }
    }
    for (; i != count; ++i) body(i, float());
}
template <class Number, class Value> [[gnu::always_inline]] inline Number load_number(const Value* from) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) return *from;
    else return Number::load_unaligned(from);
}
template <class Number, class Value>
[[gnu::always_inline]] inline void store_number(const Number& value, Value* to) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) *to = value;
    else value.store_unaligned(to);
}

}  // namespace zp::inline v0::kernel
