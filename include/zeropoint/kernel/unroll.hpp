// Compile-time unrolling: loops over registers must not depend on what an optimizer feels like.
#pragma once

#include <type_traits>
#include <utility>

namespace zp {
inline namespace v0 {
namespace kernel {

/// body(0), body(1), ... body(Count - 1), each index an integral constant. Bodies that hold registers are marked
/// __attribute__((always_inline)) after their parameters.
template <int Count, class Body> [[gnu::always_inline]] inline constexpr void unroll(Body&& body) {
    [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
        (body(std::integral_constant<int, Index>{}), ...);
    }
    (std::make_integer_sequence<int, Count>{});
}

/// The same with plain numbers for indices, unrolled by the optimizer at -O2 and above: a body is compiled once and not
/// `Count` times.
template <int Count, class Body> [[gnu::always_inline]] inline constexpr void repeat(Body&& body) {
#pragma GCC unroll 32
    for (int i = 0; i != Count; ++i) body(i);
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
