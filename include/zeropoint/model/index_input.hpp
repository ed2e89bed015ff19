// SPDX-License-Identifier: BSD-3-Clause
// Indices on their way into a model: which integers are taken, and what is checked of them.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>

#include <zeropoint/operators/embedding_geometry.hpp>

namespace zp::inline v0 {

/// Indices that the caller has checked: `model(zp::unchecked(tokens), y)` looks at none of them before it runs, and is
/// noexcept where the sizes of x and y are part of their types. An index outside of a table reads memory that is not its.
template <class Range> struct unchecked_values { const Range& values; };
/// Indices that the caller knows to be within their tables: a call does not look at them, and one that is not is
/// undefined behavior.
template <class Range> unchecked_values<Range> unchecked(const Range& values) { return {values}; }

/// The integers that a model of indices takes; no characters.
template <class T>
concept index_value = std::integral<T> && !std::is_same_v<T, char32_t> && !std::is_same_v<T, wchar_t> &&
                      (sizeof(T) == 4 || sizeof(T) == 8);

namespace detail {

template <class Range> inline constexpr bool is_unchecked = false;
template <class Range> inline constexpr bool is_unchecked<unchecked_values<Range>> = true;

/// Raises value_error, with the layer's name, for the first index of an input, a node, that lies outside of the table of a node which
/// reads it; with the input's name where a mask reads it.
template <index_value Index> void check_indices(std::span<const node> nodes, int input, const Index* indices) {
    for (const node& n : nodes) {
        if (n.op->bound == nullptr || n.inputs[0] != input) continue;
        const index_bound bound = n.op->bound({nodes.data(), n});
        const char* name = bound.is_mask ? nodes[static_cast<std::size_t>(input)].name : n.name;
        zp::check_indices(name, indices, bound.first, bound.count, bound.rows, bound.is_mask);
    }
}

}  // namespace detail
}  // namespace zp::inline v0
