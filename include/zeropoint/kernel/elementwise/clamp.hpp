// Clamping of codes: quantized relu, relu6 and hardtanh, whose output keeps its input's scale and zero point.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/machine/architecture.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// y[i] = min(max(x[i], low), high) for `count` codes or floats. relu is low = zero_point, relu6 also
/// high = zero_point + rne(6 / scale). y may be x. A NaN gives low.
template <class Arch, class T> void clamp(const T* x, std::size_t count, T low, T high, T* y) noexcept {
    std::size_t i = 0;
    if constexpr (has_vectors<Arch>) {
        using values = xsimd::batch<T, Arch>;
        const values lows(low), highs(high);
        for (; i + values::size <= count; i += values::size) {
            const values value = values::load_unaligned(x + i);
            const values raised = xsimd::select(value > lows, value, lows);
            xsimd::select(raised < highs, raised, highs).store_unaligned(y + i);
        }
    }
    for (; i != count; ++i) {
        const T raised = x[i] > low ? x[i] : low;
        y[i] = raised < high ? raised : high;
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
