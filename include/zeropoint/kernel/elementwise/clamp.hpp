// SPDX-License-Identifier: BSD-3-Clause
// Clamping of codes: quantized relu, relu6 and hardtanh, whose output keeps its input's scale and zero point.
#pragma once

#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// y[i] = min(max(x[i], low), high) for `count` codes or floats. relu is low = zero_point, relu6 also
/// high = zero_point + rne(6 / scale). y may be x. A NaN gives low.
template <class Arch, class T> void clamp(const T* x, std::size_t count, T low, T high, T* y) noexcept {
    const auto clamped = [ low, high ](const auto& value) __attribute__((always_inline)) {
        using Value = std::remove_cvref_t<decltype(value)>;
        const Value lows(low), highs(high), raised = choose_number(value > lows, value, lows);
        return choose_number(raised < highs, raised, highs);
    };
    map_values<Arch>(count, y, clamped, x);
}

}  // namespace zp::inline v0::kernel
