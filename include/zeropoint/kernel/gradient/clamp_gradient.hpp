// SPDX-License-Identifier: BSD-3-Clause
// Gradients of relu, relu6, clamp, and what several readers of a value send back to it.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/gradient/batch.hpp>
#include <zeropoint/kernel/vector/number.hpp>

namespace zp::inline v0::kernel {

/// Whether values on a bound itself pass their gradient. PyTorch's relu, relu6 and hardtanh are open, its clamp is closed.
enum class clamp_edges { open, closed };

/// dx[i] = dy[i] where low < x[i] < high, or with closed edges low <= x[i] <= high, else 0: the gradient of min(max(x, low),
/// high), infinities being no bounds. Of open edges x may be the clamped values as well. A NaN in x passes its gradient, as in
/// PyTorch's relu. dx may be dy or x.
template <class Arch, clamp_edges Edges = clamp_edges::open>
void clamp_gradient(const float* x, const float* dy, std::size_t count, float low, float high, float* dx) noexcept {
    for_each_vector<Arch>(
        count, [=](std::size_t i, auto kind) __attribute__((always_inline)) {
            using Number = decltype(kind);
            const Number value = load_number<Number>(x + i), lows(low), highs(high), zero(0.0f);
            Number passed = load_number<Number>(dy + i);
            if constexpr (Edges == clamp_edges::open) {
                passed = choose_number(value <= lows, zero, passed);
                passed = choose_number(value >= highs, zero, passed);
            } else {
                passed = choose_number(value < lows, zero, passed);
                passed = choose_number(value > highs, zero, passed);
            }
            store_number(passed, dx + i);
        });
}

/// sum[i] += dy[i]: what another reader of a value sends back, and the gradient of a sum.
template <class Arch> void add_gradient(const float* dy, std::size_t count, float* sum) noexcept {
    for_each_vector<Arch>(
        count, [=](std::size_t i, auto kind) __attribute__((always_inline)) {
            using Number = decltype(kind);
            store_number(Number(load_number<Number>(sum + i) + load_number<Number>(dy + i)), sum + i);
        });
}

}  // namespace zp::inline v0::kernel
