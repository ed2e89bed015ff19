// SPDX-License-Identifier: BSD-3-Clause
// Several vectors through one long function of floats side by side.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/float_functions.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/kernel/vector/unroll.hpp>

// A function such as exp is a chain in which each operation waits for the one before it: 60 cycles of waiting for 30
// operations. Processors look ahead for other work, but not over several such chains. A group goes through them in step,
// an operation at a time. It is a Number as float and vectors are, with the same bits.

namespace zp::inline v0::kernel {

/// `Count` vectors of floats, or masks of such.
template <class Batch, int Count> struct vector_group {
    Batch parts[Count];

    vector_group() = default;
    [[gnu::always_inline]] explicit vector_group(float value) {
        unroll<Count>([&](auto i) __attribute__((always_inline)) { parts[i] = Batch(value); });
    }
    [[gnu::always_inline]] static vector_group load_unaligned(const float* from) {
        vector_group group;
        unroll<Count>([&](auto i) __attribute__((always_inline)) {
            group.parts[i] = Batch::load_unaligned(from + i * std::ptrdiff_t{Batch::size});
        });
        return group;
    }
    [[gnu::always_inline]] void store_unaligned(float* to) const {
        unroll<Count>([&](auto i) __attribute__((always_inline)) {
            parts[i].store_unaligned(to + i * std::ptrdiff_t{Batch::size});
        });
    }
};

/// function(a.parts[i], ...) of each i.
template <int Count, class Function, class... Group>
[[gnu::always_inline]] inline auto for_each_part(const Function& function, const Group&... groups) noexcept {
    vector_group<decltype(function(groups.parts[0]...)), Count> result;
    unroll<Count>([&](auto i) __attribute__((always_inline)) { result.parts[i] = function(groups.parts[i]...); });
    return result;
}

#define ZEROPOINT_GROUP_OPERATOR(symbol)                                                                     \
    template <class Batch, int Count>                                                                        \
    [[gnu::always_inline]] inline auto operator symbol(const vector_group<Batch, Count>& a,                  \
                                                       const vector_group<Batch, Count>& b) noexcept {       \
        return for_each_part<Count>(                                                                         \
            [](const Batch& x, const Batch& y) __attribute__((always_inline)) { return x symbol y; }, a, b); \
    }
ZEROPOINT_GROUP_OPERATOR(+)
ZEROPOINT_GROUP_OPERATOR(-)
ZEROPOINT_GROUP_OPERATOR(*)
ZEROPOINT_GROUP_OPERATOR(<)
ZEROPOINT_GROUP_OPERATOR(>)
#undef ZEROPOINT_GROUP_OPERATOR

template <class Batch, int Count>
[[gnu::always_inline]] inline auto operator-(const vector_group<Batch, Count>& a) noexcept {
    return for_each_part<Count>(
        [](const Batch& x) __attribute__((always_inline)) { return -x; }, a);
}
template <class Batch, int Count>
[[gnu::always_inline]] inline vector_group<Batch, Count> rounded(vector_group<Batch, Count> a) noexcept {
    unroll<Count>([&](auto i) __attribute__((always_inline)) { a.parts[i] = rounded(a.parts[i]); });
    return a;
}
template <class Batch, int Count>
[[gnu::always_inline]] inline vector_group<Batch, Count> divide(const vector_group<Batch, Count>& a,
                                                                const vector_group<Batch, Count>& b) noexcept {
    return for_each_part<Count>(
        [](const Batch& x, const Batch& y) __attribute__((always_inline)) { return divide(x, y); }, a, b);
}
template <class Mask, class Batch, int Count>
[[gnu::always_inline]] inline vector_group<Batch, Count> choose_number(const vector_group<Mask, Count>& condition,
                                                                       const vector_group<Batch, Count>& a,
                                                                       const vector_group<Batch, Count>& b) noexcept {
    return for_each_part<Count>(
        [](const Mask& c, const Batch& x, const Batch& y)
            __attribute__((always_inline)) { return choose_number(c, x, y); },
        condition, a, b);
}
template <class Batch, int Count>
[[gnu::always_inline]] inline vector_group<Batch, Count> limit_number(const vector_group<Batch, Count>& x,
                                                                      float limit) noexcept {
    return for_each_part<Count>(
        [limit](const Batch& part) __attribute__((always_inline)) { return limit_number(part, limit); }, x);
}
template <class Batch, int Count>
[[gnu::always_inline]] inline vector_group<Batch, Count> nearest_power_of_two(const vector_group<Batch, Count>& x,
                                                                              vector_group<Batch, Count>& n) noexcept {
    vector_group<Batch, Count> power;
    unroll<Count>([&](auto i) __attribute__((always_inline)) {
        power.parts[i] = nearest_power_of_two(x.parts[i], n.parts[i]);
    });
    return power;
}

/// for_each_number() with groups of four vectors where that many values are left.
template <class Arch, class Body>
[[gnu::always_inline]] inline void for_each_group(std::size_t count, const Body& body) noexcept {
    std::size_t first = 0;
    if constexpr (has_ieee_vectors<Arch>) {
        using group = vector_group<xsimd::batch<float, Arch>, 4>;
        constexpr std::size_t size = 4 * xsimd::batch<float, Arch>::size;
        for (; first + size <= count; first += size) body(first, group());
    }
    for_each_number<Arch>(
        count - first, [&](std::size_t i, auto number) __attribute__((always_inline)) { body(first + i, number); });
}

}  // namespace zp::inline v0::kernel
