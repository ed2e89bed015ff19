// SPDX-License-Identifier: BSD-3-Clause
// The gates of recurrent cells in float: sums of two products through sigmoid and tanh to the next state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/vector/float_functions.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// A state is quantized again in the next step, so that a last bit can become a code, and codes the result: the same bits on every
// architecture, each operation rounded on its own. The scalar and the vector form are one template. `Vectors` may be narrower than those
// of Arch, which stays in a function's name: what is compiled for one architecture never serves programs of another.

namespace zp::inline v0::kernel {

/// So many units go through their first functions before any goes through its last: one function waits for itself some sixty cycles,
/// and the units' next to each other fill them.
inline constexpr std::size_t units_together = 128;

/// One step of an LSTM cell behind its products, a and b being 4 x count each, in PyTorch's order of gates i, f, g, o:
///     i = sigmoid(a_i + b_i), f = sigmoid(a_f + b_f), g = tanh(a_g + b_g), o = sigmoid(a_o + b_o)
///     c = f * c + i * g, h = o * tanh(c)
template <class Arch, class Vectors = Arch>
void lstm_gates(const float* a, const float* b, std::size_t count, float* c, float* h) noexcept {
    alignas(64) float given[units_together];
    for (std::size_t first = 0; first < count; first += units_together) {
        const std::size_t units = std::min(count - first, units_together);
        for_each_number<Vectors, true>(
            units, [&](std::size_t unit, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                const std::size_t i = first + unit;
                const auto sum = [&](std::size_t gate) __attribute__((always_inline)) {
                    return Number(load_number<Number>(a + gate * count + i) +
                                  load_number<Number>(b + gate * count + i));
                };
                const Number kept = bounded_sigmoid(sum(1)) * load_number<Number>(c + i);
                const Number added = bounded_sigmoid(sum(0)) * bounded_tanh(sum(2));
                store_number(bounded_sigmoid(sum(3)), given + unit);
                store_number(Number(rounded(kept) + rounded(added)), c + i);
            });
        for_each_number<Vectors, true>(
            units, [&](std::size_t unit, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                const Number cell = load_number<Number>(c + first + unit);
                store_number(Number(load_number<Number>(given + unit) * bounded_tanh(cell)), h + first + unit);
            });
    }
}

/// One step of a GRU cell behind its products, 3 x count each, gates r, z, n:
///     r = sigmoid(a_r + b_r), z = sigmoid(a_z + b_z), n = tanh(a_n + r * b_n), h = n + z * (h - n)
template <class Arch, class Vectors = Arch>
void gru_gates(const float* a, const float* b, std::size_t count, float* h) noexcept {
    alignas(64) float updates[units_together], arguments[units_together];
    for (std::size_t first = 0; first < count; first += units_together) {
        const std::size_t units = std::min(count - first, units_together);
        for_each_number<Vectors, true>(
            units, [&](std::size_t unit, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                const std::size_t i = first + unit;
                const auto from_input = [&](std::size_t gate) __attribute__((always_inline)) {
                    return load_number<Number>(a + gate * count + i);
                };
                const auto from_state = [&](std::size_t gate) __attribute__((always_inline)) {
                    return load_number<Number>(b + gate * count + i);
                };
                const Number reset = bounded_sigmoid(Number(from_input(0) + from_state(0)));
                store_number(bounded_sigmoid(Number(from_input(1) + from_state(1))), updates + unit);
                store_number(Number(from_input(2) + rounded(Number(reset * from_state(2)))), arguments + unit);
            });
        for_each_number<Vectors, true>(
            units, [&](std::size_t unit, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                const Number fresh = bounded_tanh(load_number<Number>(arguments + unit));
                const Number old = load_number<Number>(h + first + unit);
                const Number update = load_number<Number>(updates + unit);
                store_number(Number(fresh + rounded(Number(update * (old - fresh)))), h + first + unit);
            });
    }
}

/// One step of an Elman cell behind its products: h = tanh(a + b) or max(a + b, 0), which is NaN for NaN.
template <class Arch, class Vectors = Arch>
void rnn_tanh_gates(const float* a, const float* b, std::size_t count, float* h) noexcept {
    const auto gate = [](const auto& x, const auto& z) __attribute__((always_inline)) { return bounded_tanh(x + z); };
    map_values<ieee_vectors<Vectors>>(count, h, gate, a, b);
}
template <class Arch, class Vectors = Arch>
void rnn_relu_gates(const float* a, const float* b, std::size_t count, float* h) noexcept {
    const auto gate = [](const auto& x, const auto& z) __attribute__((always_inline)) {
        const auto sum = x + z;
        using Number = std::remove_const_t<decltype(sum)>;
        return choose_number(sum < Number(0.0f), Number(0.0f), sum);
    };
    map_values<ieee_vectors<Vectors>>(count, h, gate, a, b);
}

}  // namespace zp::inline v0::kernel
