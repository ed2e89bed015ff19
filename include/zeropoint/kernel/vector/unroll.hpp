// SPDX-License-Identifier: BSD-3-Clause
// Compile-time unrolling: loops over registers must not depend on what an optimizer feels like.
#pragma once

#include <type_traits>
#include <utility>

namespace zp::inline v0::kernel {

/// body(0), body(1), ... body(Count - 1), unrolled by the optimizer at -O2 and above: the body is compiled once and not
/// `Count` times. Bodies that hold registers are marked __attribute__((always_inline)) after their parameters.
template <int Count, class Body> [[gnu::always_inline]] inline constexpr void repeat(Body&& body) {
#pragma GCC unroll 64
    for (int i = 0; i != Count; ++i) body(i);
}

/// The same with each index an integral constant, for bodies that need one. Or with `Late` as repeat() has it.
template <int Count, bool Late = false, class Body> [[gnu::always_inline]] inline constexpr void unroll(Body&& body) {
    if constexpr (Late) {
        repeat<Count>(body);
    } else {
        [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
            (body(std::integral_constant<int, Index>{}), ...);
        }
        (std::make_integer_sequence<int, Count>{});
    }
}

}  // namespace zp::inline v0::kernel
