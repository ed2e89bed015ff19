// SPDX-License-Identifier: BSD-3-Clause
// What a layer is, and layers one after another: what every composition of layers is made of.
#pragma once

#include <concepts>

#include <zeropoint/core/has_told.hpp>
#include <zeropoint/graph/builder.hpp>

namespace zp::inline v0 {

/// What makes a type a layer, the user's own included: `nodes`, how many rows it becomes at most, and `lower(builder&, int)`, which
/// appends them behind the row of that number and returns the last one's.
template <class L> concept layer = requires(builder& b, int x) {
    { L::nodes } -> std::convertible_to<int>;
    { L::lower(b, x) } -> std::same_as<int>;
};

/// What keeps a type from being a layer.
template <class L>
inline constexpr rule broken_by = has_told<L> ? rule::told_by_itself
                                  : layer<L>  ? rule::none
                                              : rule::not_a_layer;

// Loops over arrays and no folds: clang stops a fold at 256 operands.

/// The rule that the first of these types breaks that is no layer, and its place, counted from 1; 0 where all are layers.
template <class... Layers>
inline constexpr diagnostic first_that_is_no_layer = [] {
    const rule broken[] = {rule::none, broken_by<Layers>...};
    int place = 0;
    for (const rule one : broken) {
        if (one != rule::none) return diagnostic{.broken = one, .a = {1, 1, place}};
        ++place;
    }
    return diagnostic{};
}();

/// Rows of all these layers; 0 where one is none.
template <class... Layers>
inline constexpr int nodes_of = [] {
    int sum = 0;
    if constexpr (first_that_is_no_layer<Layers...>.broken == rule::none) {
        const int counts[] = {0, Layers::nodes...};
        for (const int count : counts) sum += count;
    }
    return sum;
}();

// That an argument is no layer is a broken rule like others, told by the verdict: a static_assert in the classes here would
// make them invalid, and clang would add errors about everything that uses them.

/// One after another.
template <class... Layers> struct sequential {
    static constexpr int nodes = nodes_of<Layers...>;
    static constexpr int lower(builder& b, int x) {
        if constexpr (constexpr diagnostic none = first_that_is_no_layer<Layers...>; none.broken != rule::none) {
            b.fail(none.broken, none.a);
        } else if constexpr (sizeof...(Layers) != 0) {
            using lower_function = int (*)(builder&, int);
            const lower_function appends[] = {&Layers::lower...};
            for (const lower_function append : appends) x = append(b, x);
        }
        return x;
    }
};
/// Gives what goes in: the other branch of a residual, or of an add.
struct identity : sequential<> {};

}  // namespace zp::inline v0
