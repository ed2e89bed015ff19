// SPDX-License-Identifier: BSD-3-Clause
// A formula over arrays, written once: for the lanes of vectors, and for the values behind the last whole vector.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>

// A formula takes codes as std::int32_t or as a vector of such, and is made of operators and of the functions here. It holds
// its parameters by value: behind a reference they could be what the stores of bytes change, and were read for each vector.

namespace zp::inline v0::kernel {

/// Integers as floats; they are below 2^24.
[[gnu::always_inline]] inline float float_of(std::int32_t x) noexcept { return static_cast<float>(x); }
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<float, Arch> float_of(const xsimd::batch<std::int32_t, Arch>& x) noexcept {
    return xsimd::to_float(x);
}

/// The integers nearest to floats, halves to even.
[[gnu::always_inline]] inline std::int32_t nearest_integer(float x) noexcept { return round_half_even(x); }
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<std::int32_t, Arch> nearest_integer(
    const xsimd::batch<float, Arch>& x) noexcept {
    return round_to_nearest(x);
}

/// x / 2^shift to the nearest integer, halves to even; shift in [1, 30].
[[gnu::always_inline]] inline std::int32_t shift_number(std::int32_t x, int shift) noexcept {
    return static_cast<std::int32_t>(shift_half_even(x, shift));
}
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<std::int32_t, Arch> shift_number(const xsimd::batch<std::int32_t, Arch>& x,
                                                                            int shift) noexcept {
    using ints = xsimd::batch<std::int32_t, Arch>;
    const ints whole = x >> shift, rest = x & ints((std::int32_t{1} << shift) - 1);
    // Up where rest > half, and at a tie where whole is odd.
    return xsimd::incr_if(whole, rest + (whole & ints(1)) > ints(std::int32_t{1} << (shift - 1)));
}

/// min(max(x, low), high)
template <class Number, class Bound>
[[gnu::always_inline]] inline Number clamp_number(const Number& x, Bound low, Bound high) noexcept {
    if constexpr (std::is_arithmetic_v<Number>) return std::min(std::max(x, low), high);
    else return xsimd::min(xsimd::max(x, Number(low)), Number(high));
}

/// x within [low, high]; a NaN stays one.
template <class Number>
[[gnu::always_inline]] inline Number bounded_value(const Number& x, float low, float high) noexcept {
    const Number lows(low), highs(high), raised = choose_number(x < lows, lows, x);
    return choose_number(raised > highs, highs, raised);
}

/// Where real results land: the codes from quant_min to quant_max.
struct code_range {
    float low, high;  ///< counted from the zero point
    std::int32_t zero_point;

    constexpr code_range(std::int32_t quant_min, std::int32_t quant_max, std::int32_t zero)
        : low(static_cast<float>(quant_min) - static_cast<float>(zero)),
          high(static_cast<float>(quant_max) - static_cast<float>(zero)),
          zero_point(zero) {}

    /// rne(clamp(steps, low, high)) + zero_point
    template <class Number> [[gnu::always_inline]] auto nearest(const Number& steps) const noexcept {
        return nearest_integer(clamp_number(steps, low, high)) + zero_point;
    }
};

/// y[i] = formula(x[i]...) for `count` codes of each x; y may be any of them. Which lanes codes go through is whatever is
/// cheapest: for formulas that are the same for all codes.
template <class Arch, code8 Y, class Formula, code8... X>
[[gnu::always_inline]] inline void map_codes(std::size_t count, Y* y, Formula formula, const X*... x) noexcept {
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        const auto map = [&](const auto&... quads) __attribute__((always_inline)) {
            batch_quad<std::int32_t, Arch> codes;
#pragma GCC unroll 4
            for (std::size_t part = 0; part != 4; ++part) codes[part] = formula(quads[part]...);
            store_interleaved<Arch>(y + i, codes);
        };
        for (; i + vector_size<Y, Arch> <= count; i += vector_size<Y, Arch>) map(load_interleaved<Arch>(x + i)...);
    }
    for (; i < count; ++i) y[i] = static_cast<Y>(formula(std::int32_t{x[i]}...));
}

/// y[i] = formula(x[i], i) for `count` codes or values of 32 bits; y may be x where it has the same type. For formulas that
/// depend on the place: they are given that of their first lane, and lanes are in order. What is behind the last four vectors
/// goes value by value, or `ByVectors` while it fills one: where arrays are short.
template <class Arch, bool ByVectors = false, class X, class Y, class Formula>
[[gnu::always_inline]] inline void map_in_order(const X* x, std::size_t count, Y* y, Formula formula) noexcept {
    std::size_t i = 0, left = count;
    if constexpr (has_vectors<Arch>) {
        constexpr std::size_t lanes = vector_size<float, Arch>;
        for (left %= 4 * lanes; i != count - left; i += 4 * lanes) {
            const auto quad = load_consecutive<Arch>(x + i);
            std::array<decltype(formula(quad[0], i)), 4> results;
#pragma GCC unroll 4
            for (std::size_t part = 0; part != 4; ++part) results[part] = formula(quad[part], i + part * lanes);
            store_consecutive<Arch>(y + i, results);
        }
        if constexpr (ByVectors)
            for (; left >= lanes; left -= lanes, i += lanes) store_lanes(y + i, formula(load_lanes<Arch>(x + i), i));
    }
    for (; left != 0; --left, ++i) {
        if constexpr (code8<X>) y[i] = static_cast<Y>(formula(std::int32_t{x[i]}, i));
        else y[i] = static_cast<Y>(formula(x[i], i));
    }
}

/// y[i] = formula(x[i]...) for `count` values of one type, codes or floats, that a formula takes as they are; y may be any
/// of the x.
template <class Arch, class T, class Formula, class... X>
[[gnu::always_inline]] inline void map_values(std::size_t count, T* y, Formula formula, const X*... x) noexcept {
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        using values = xsimd::batch<T, Arch>;
        for (; i + values::size <= count; i += values::size)
            formula(values::load_unaligned(x + i)...).store_unaligned(y + i);
    }
    for (; i < count; ++i) y[i] = static_cast<T>(formula(x[i]...));
}

}  // namespace zp::inline v0::kernel
