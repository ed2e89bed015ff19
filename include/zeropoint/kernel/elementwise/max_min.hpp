// SPDX-License-Identifier: BSD-3-Clause
// Maximum and minimum of two quantized arrays, each brought to the output's grid by a table where it is on another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>

namespace zp::inline v0::kernel {

/// The larger of two values; a NaN wins.
struct larger_of {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        if constexpr (std::is_integral_v<Value>) return a > b ? a : b;
        else if constexpr (std::is_floating_point_v<Value>) return a > b || a != a ? a : b;
        else if constexpr (std::is_integral_v<typename Value::value_type>) return xsimd::max(a, b);
        else return xsimd::select((a > b) | (a != a), a, b);
    }
};
/// The smaller of two values; a NaN wins.
struct smaller_of {
    template <class Value> [[gnu::always_inline]] Value operator()(const Value& a, const Value& b) const noexcept {
        if constexpr (std::is_integral_v<Value>) return a < b ? a : b;
        else if constexpr (std::is_floating_point_v<Value>) return a < b || a != a ? a : b;
        else if constexpr (std::is_integral_v<typename Value::value_type>) return xsimd::min(a, b);
        else return xsimd::select((a < b) | (a != a), a, b);
    }
};

/// y[i] = min(max(choose(a[i], b[i]), low), high) for `count` codes that mean the same in all three; `Choose` is larger_of
/// or smaller_of. y may be a or b.
template <class Arch, class Choose, code8 T>
void choose_codes(const T* a, const T* b, std::size_t count, T low, T high, T* y) noexcept {
    const auto chosen = [ low, high ](const auto& x, const auto& z) __attribute__((always_inline)) {
        return clamp_number(Choose{}(x, z), low, high);
    };
    map_values<Arch>(count, y, chosen, a, b);
}

/// y[i] = clamp(choose(a_table[a[i]], b_table[b[i]]), low, high) for `count` codes. A table takes its operand's codes to
/// the output's, as lookup_table.hpp makes it with the identity; since it never falls, the choice among real values is
/// the choice among its codes, and each output is rounded once. Null for an operand on the output's grid, which has then
/// its storage type too. `Choose` is larger_of or smaller_of. y may be a or b where the storage types are equal.
template <class Arch, class Choose, code8 A, code8 Y>
void extremum(const A* a, const A* b, std::size_t count, const Y* a_table, const Y* b_table, Y low, Y high,
              Y* y) noexcept {
    constexpr std::size_t room = 512;
    Y a_codes[room], b_codes[room];
    for (std::size_t first = 0; first < count; first += room) {
        const std::size_t run = std::min(room, count - first);
        choose_codes<Arch, Choose>(codes_on_grid<Arch>(a + first, run, a_table, a_codes),
                                   codes_on_grid<Arch>(b + first, run, b_table, b_codes), run, low, high, y + first);
    }
}

}  // namespace zp::inline v0::kernel
