// SPDX-License-Identifier: BSD-3-Clause
// Comparisons of two arrays, whose results are 0 and 1: of floats, and of codes on grids of their own, exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

enum class comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

constexpr const char* name_of(comparison which) {
    constexpr const char* names[] = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};
    return names[static_cast<int>(which)];
}

/// Whether it is true of two numbers, or in which lanes of two vectors. Of a NaN only not_equal is.
template <comparison Which, class Value> [[gnu::always_inline]] constexpr auto is_true(const Value& a, const Value& b) {
    if constexpr (Which == comparison::equal) return a == b;
    else if constexpr (Which == comparison::not_equal) return a != b;
    else if constexpr (Which == comparison::less) return a < b;
    else if constexpr (Which == comparison::less_equal) return a <= b;
    else if constexpr (Which == comparison::greater) return a > b;
    else return a >= b;
}

/// The same as 0 or 1, for float_binary().
template <comparison Which> struct compare_values {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        if constexpr (std::is_arithmetic_v<Value>) return is_true<Which>(a, b) ? Value(1) : Value(0);
        else return xsimd::select(is_true<Which>(a, b), Value(1), Value(0));
    }
};

/// How one question is asked by another: all of them are `equal` or `less`, of operands that change places in greater and
/// less_equal, with an answer that is turned round in not_equal, less_equal and greater_equal.
template <comparison Which> struct asked_as {
    static constexpr bool equality = Which == comparison::equal || Which == comparison::not_equal;
    static constexpr bool swapped = Which == comparison::greater || Which == comparison::less_equal;
    static constexpr bool inverted =
        Which == comparison::not_equal || Which == comparison::less_equal || Which == comparison::greater_equal;
};

/// Where the codes of one operand lie among those of another: make_code_comparison() computes it. The first is `a`, or
/// `b` where asked_as<Which>::swapped.
struct code_comparison {
    /// For each code of the first, from the lowest on, a code of the second. For equalities the one that means the same, or
    /// the zero point where there is none; else the last one that is not above it, or the lowest.
    std::uint8_t place[lookup_table_size] = {};
    bool same_grid = true;  ///< codes are compared as they are
    /// For equalities the zero points of both. Else `first` is the lowest code of the first operand that is not below all
    /// codes of the second.
    std::int32_t first = 0, second = 0;
    /// The answers, turned round where asked_as<Which>::inverted. Numbers in memory, because Clang 19 for SVE cannot compile a
    /// choice between constants of 0 and 1.
    std::uint8_t when_true = 1, when_false = 0;
    constexpr bool operator==(const code_comparison&) const = default;
};

/// Both operands hold real numbers scale * (code - zero_point), which are exact in double; scales are finite numbers
/// above zero, zero points codes of T.
template <comparison Which, code8 T>
constexpr code_comparison make_code_comparison(float a_scale, std::int32_t a_zero_point, float b_scale,
                                               std::int32_t b_zero_point) {
    constexpr std::int32_t lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    code_comparison made;
    made.same_grid = a_scale == b_scale && a_zero_point == b_zero_point;
    if (asked_as<Which>::inverted) std::swap(made.when_true, made.when_false);
    if (asked_as<Which>::swapped) {
        std::swap(a_scale, b_scale);
        std::swap(a_zero_point, b_zero_point);
    }
    made.first = asked_as<Which>::equality ? a_zero_point : lowest;
    made.second = b_zero_point;
    std::int32_t below = lowest - 1;  // the last code of b that is not above a
    for (std::int32_t code = lowest; code <= highest; ++code) {
        const double a = double{a_scale} * (code - a_zero_point);
        const auto b = [&](std::int32_t other) { return double{b_scale} * (other - b_zero_point); };
        while (below < highest && b(below + 1) <= a) ++below;
        std::int32_t place = below;
        if constexpr (asked_as<Which>::equality) {
            if (below < lowest || b(below) != a) place = b_zero_point;
        } else if (below < lowest) {
            place = lowest;
            made.first = code + 1;
        }
        made.place[code - lowest] = static_cast<std::uint8_t>(place);
    }
    return made;
}

/// y[i] = 1 where the comparison is true of the real numbers of a[i] and b[i], else 0, for `count` codes. y may be a or b.
///
/// With p = place[a], a < b is b > p, or that a is below all codes of b; there is such an a only below its zero point,
/// since zero is a number of both. And a == b is b == p, unless p stands for none and b is its zero point by chance.
template <class Arch, comparison Which, code8 T>
void compare_codes(const T* a, const T* b, std::size_t count, const code_comparison& c, T* y) noexcept {
    constexpr std::size_t room = 512;
    const auto when_true = static_cast<T>(c.when_true), when_false = static_cast<T>(c.when_false);
    if (asked_as<Which>::swapped) std::swap(a, b);
    T places[room];
    const auto first = static_cast<T>(c.first), second = static_cast<T>(c.second);
    const auto answer = [=](const auto& x, const auto& z, const auto& place) __attribute__((always_inline)) {
        using Value = std::remove_cvref_t<decltype(x)>;
        const Value firsts(first), seconds(second), yes(when_true), no(when_false);
        if constexpr (asked_as<Which>::equality)
            return choose_number((z == place) & ((z != seconds) | (x == firsts)), yes, no);
        else return choose_number((z > place) | (x < firsts), yes, no);
    };
    for (std::size_t begin = 0; begin < count; begin += room) {
        const std::size_t run = std::min(room, count - begin);
        const T *as = a + begin, *bs = b + begin, *at = places;
        T* to = y + begin;
        if (c.same_grid) at = as;
        else lookup_table<Arch>(as, run, reinterpret_cast<const T*>(c.place), places);
        map_values<Arch>(run, to, answer, as, bs, at);
    }
}

}  // namespace zp::inline v0::kernel
