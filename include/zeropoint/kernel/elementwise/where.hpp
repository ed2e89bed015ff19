// SPDX-License-Identifier: BSD-3-Clause
// A choice between two operands, value by value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/epilogue/lookup_table.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// y[i] = condition[i] != zero ? a[i] : b[i] for `count` codes or floats. `zero` is the condition's zero point; a NaN is
/// not zero. y may be any of the three.
template <class Arch, class T>
void where(const T* condition, T zero, const T* a, const T* b, std::size_t count, T* y) noexcept {
    const auto chosen = [zero](const auto& c, const auto& x, const auto& z) __attribute__((always_inline)) {
        return choose_number(c == std::remove_cvref_t<decltype(c)>(zero), z, x);
    };
    map_values<Arch>(count, y, chosen, condition, a, b);
}

/// The same for operands on other grids than the output: codes of `a` go through `a_table`, those of `b` through
/// `b_table` (lookup_table.hpp), made with the identity as their function; null for an operand on the output's grid.
template <class Arch, code8 T>
void where(const T* condition, T zero, const T* a, const T* a_table, const T* b, const T* b_table, std::size_t count,
           T* y) noexcept {
    constexpr std::size_t most = 1024;
    T from_a[most], from_b[most];
    for (std::size_t first = 0; first < count; first += most) {
        const std::size_t n = std::min(most, count - first);
        where<Arch>(condition + first, zero, codes_on_grid<Arch>(a + first, n, a_table, from_a),
                    codes_on_grid<Arch>(b + first, n, b_table, from_b), n, y + first);
    }
}

/// One condition a pixel, for all its channels: y[p * channels + c] = condition[p] != zero ? a[...] : b[...].
template <class Arch, class T>
void where_pixels(const T* condition, T zero, const T* a, const T* b, std::size_t pixels, std::size_t channels,
                  T* y) noexcept {
    for (std::size_t p = 0; p != pixels; ++p) {
        const T* chosen = (condition[p] == zero ? b : a) + p * channels;
        std::copy(chosen, chosen + channels, y + p * channels);
    }
}
template <class Arch, code8 T>
void where_pixels(const T* condition, T zero, const T* a, const T* a_table, const T* b, const T* b_table,
                  std::size_t pixels, std::size_t channels, T* y) noexcept {
    for (std::size_t p = 0; p != pixels; ++p) {
        const bool is_zero = condition[p] == zero;
        const T* chosen = (is_zero ? b : a) + p * channels;
        const T* table = is_zero ? b_table : a_table;
        if (table == nullptr) std::copy(chosen, chosen + channels, y + p * channels);
        else lookup_table<Arch>(chosen, channels, table, y + p * channels);
    }
}

}  // namespace zp::inline v0::kernel
