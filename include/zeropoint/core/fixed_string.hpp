// SPDX-License-Identifier: BSD-3-Clause
// A string that can be a template argument: the names of layers.
#pragma once

#include <cstddef>
#include <string_view>

namespace zp::inline v0 {

/// Characters as a value of structural type; `N` counts the terminating zero, as the literal does.
/// Compilers print it as text when `N` is exact, so never pad one.
template <std::size_t N> struct fixed_string {
    char text[N]{};  // with the zero at its end

    /// Of a literal, or of zeros.
    constexpr fixed_string() = default;
    constexpr fixed_string(const char (&literal)[N]) {  // NOLINT(google-explicit-constructor): "conv1" is a name
        for (std::size_t i = 0; i != N; ++i) text[i] = literal[i];
    }
    /// Without the zero.
    constexpr std::string_view view() const { return {text, N - 1}; }
    constexpr bool operator==(const fixed_string&) const = default;
};

/// Concatenation, for blocks that name their parts: `Name + ".conv1"`.
template <std::size_t A, std::size_t B>
constexpr fixed_string<A + B - 1> operator+(const fixed_string<A>& a, const fixed_string<B>& b) {
    fixed_string<A + B - 1> sum;
    for (std::size_t i = 0; i != A - 1; ++i) sum.text[i] = a.text[i];
    for (std::size_t i = 0; i != B; ++i) sum.text[A - 1 + i] = b.text[i];
    return sum;
}
template <std::size_t A, std::size_t B>
constexpr fixed_string<A + B - 1> operator+(const fixed_string<A>& a, const char (&b)[B]) {
    return a + fixed_string<B>(b);
}
template <std::size_t A, std::size_t B>
constexpr fixed_string<A + B - 1> operator+(const char (&a)[A], const fixed_string<B>& b) {
    return fixed_string<A>(a) + b;
}

/// Lifts a name out of a constexpr diagnostic into a template argument of exactly its length, which compilers print as text.
template <std::size_t Length> consteval fixed_string<Length + 1> exact(const char* text) {
    fixed_string<Length + 1> name;
    for (std::size_t i = 0; i != Length; ++i) name.text[i] = text[i];
    return name;
}

/// A number of at least 0 in decimal digits, for parts that are numbered: `Name + "." + numeral<3>`.
template <int Number>
inline constexpr auto numeral = [] {
    static_assert(Number >= 0, "numeral<Number>: the number must be at least 0");
    constexpr std::size_t digits = [] {
        std::size_t count = 1;
        for (int rest = Number; rest >= 10; rest /= 10) ++count;
        return count;
    }();
    fixed_string<digits + 1> text;
    int rest = Number;
    for (std::size_t i = digits; i != 0; --i, rest /= 10) text.text[i - 1] = static_cast<char>('0' + rest % 10);
    return text;
}();

}  // namespace zp::inline v0
