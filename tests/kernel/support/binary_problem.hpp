// SPDX-License-Identifier: BSD-3-Clause
// What the tests of operators on two arrays of codes share: random problems, and the comparison with a definition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/reference/elementwise.hpp>

#include "../../support/arrays.hpp"

namespace binary_problem {

namespace reference = zp::kernel::reference;
using reference::operand_grid;
using reference::output_grid;

/// Any code of T, about one in four at an end of the range.
template <class T> int random_code(zp_test::generator& next) {
    constexpr int lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    const int kind = next.integer(0, 7);
    return kind == 0 ? lowest : kind == 1 ? highest : next.integer(lowest, highest);
}

/// A scale; about one in three is a power of two times a small integer, which makes ties.
inline float random_scale(zp_test::generator& next) {
    if (next.integer(0, 2) == 0) return static_cast<float>(next.integer(1, 3)) * std::ldexp(1.0f, next.integer(-8, 1));
    return std::exp2(next.real(-8, 2));
}
template <class T> operand_grid random_grid(zp_test::generator& next) {
    return {random_scale(next), random_code<T>(next)};
}
/// An output whose values reach `largest`, over all codes or, as a fused clamp leaves them, over some.
template <class T> output_grid random_output(zp_test::generator& next, float largest) {
    output_grid y{largest / std::exp2(next.real(5, 9)), random_code<T>(next), std::numeric_limits<T>::min(),
                  std::numeric_limits<T>::max()};
    if (next.integer(0, 2) == 0) y.scale = random_scale(next);
    if (next.integer(0, 3) == 0) y.quant_min = y.zero_point;  // relu
    if (next.integer(0, 7) == 0) y.quant_max = next.integer(y.quant_min, y.quant_max);
    return y;
}

/// One problem: y = run<Arch>(a, b, count) for all architectures, apart and over either operand, against
/// define(a[i], b[i]).
template <class A, class Y, class Define, class Run>
void compare(const std::vector<A>& a, const std::vector<A>& b, Define define, Run run) {
    const std::size_t count = a.size();
    std::vector<Y> expected(count);
    for (std::size_t i = 0; i != count; ++i) expected[i] = static_cast<Y>(define(a[i], b[i]));
    arrays::for_each_architecture([&]<class Arch>() {
        std::vector<Y> y(count + 2, Y{77});
        run.template operator()<Arch>(a.data(), b.data(), count, y.data() + 1);
        CHECK(y.front() == 77);
        CHECK(y.back() == 77);
        CHECK(std::equal(expected.begin(), expected.end(), y.begin() + 1));
        if constexpr (std::is_same_v<A, Y>) {
            std::vector<A> over_a = a, over_b = b;
            run.template operator()<Arch>(over_a.data(), b.data(), count, over_a.data());
            run.template operator()<Arch>(a.data(), over_b.data(), count, over_b.data());
            CHECK(over_a == expected);
            CHECK(over_b == expected);
        }
    });
}

/// `count` random problems for each pair of storage types. problem(next, type of operands, type of output) makes the
/// grids, and gives `define` and `run` to the function it gets.
template <class A, class Y, class Problem> void random_problems(int count, std::uint64_t seed, Problem problem) {
    zp_test::generator next(seed);
    for (int i = 0; i != zp_test::fewer(count); ++i) {
        const auto length =
            static_cast<std::size_t>(next.integer(0, 5) == 0 ? next.integer(513, 1200) : next.integer(0, 140));
        const auto a = arrays::codes<A>(length, next()), b = arrays::codes<A>(length, next());
        problem.template operator()<A, Y>(next, a, b);
    }
}
template <class Problem> void random_problems(int count, std::uint64_t seed, Problem problem) {
    random_problems<std::uint8_t, std::uint8_t>(count, seed, problem);
    random_problems<std::int8_t, std::int8_t>(count, seed + 1, problem);
    random_problems<std::uint8_t, std::int8_t>(count / 4, seed + 2, problem);
    random_problems<std::int8_t, std::uint8_t>(count / 4, seed + 3, problem);
}

/// What a code stands for.
inline double real(int code, const operand_grid& grid) { return double{grid.scale} * (code - grid.zero_point); }
/// How far `code` is from `value` on the output's grid, in codes, beyond the half that rounding may take.
inline double distance(int code, double value, const output_grid& y) {
    const double steps = std::clamp(value / double{y.scale} + y.zero_point, double(y.quant_min), double(y.quant_max));
    return std::abs(code - steps) - 0.5;
}

}  // namespace binary_problem
