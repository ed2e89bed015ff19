// SPDX-License-Identifier: BSD-3-Clause
// The gates of recurrent cells over activations of 16 bits, in integers: arguments, a state of 32 bits, codes of 16.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>

// Arguments of gates are integers of scale 2^-17, from -16 to 16, where sigmoid and tanh are straight lines between nodes of
// scale 2^-23, one every 2^-7. Gates and outputs have scale 2^-15, the cell of an LSTM 2^-26, the state of a GRU 2^-30.

namespace zp::inline v0::kernel {

inline constexpr float state_scale_int16 = 0x1p-15f;  ///< of the outputs, whose zero point is 0

/// sigmoid and tanh of (index - 2048) / 128, times 2^23, the nearest integers.
struct gate_tables_int16 {
    static constexpr std::size_t nodes = 4097;
    std::array<std::int32_t, nodes> sigmoid, tanh;

    gate_tables_int16() {
        for (std::size_t i = 0; i != nodes; ++i) {
            const double x = (static_cast<double>(i) - 2048) / 128;
            sigmoid[i] = static_cast<std::int32_t>(round_half_even(0x1p23 / (1 + std::exp(-x))));
            tanh[i] = static_cast<std::int32_t>(round_half_even(0x1p23 * std::tanh(x)));
        }
    }
    /// rne(((2^10 - f) * node + f * next) / 2^18), at most 32767, for an argument from -2^21 to 2^21 - 1, others cut to those;
    /// f is what it is past the node.
    static std::int64_t at(const std::array<std::int32_t, nodes>& table, std::int64_t argument) noexcept {
        const std::int64_t place = std::clamp<std::int64_t>(argument, -(1 << 21), (1 << 21) - 1) + (1 << 21);
        const auto k = static_cast<std::size_t>(place >> 10);
        const std::int64_t f = place & 1023, line = 1024 * std::int64_t{table[k]} + f * (table[k + 1] - table[k]);
        return std::min<std::int64_t>(shift_half_even(line, 18), 32767);
    }
};

/// What makes gates' arguments of sums, of scale 2^-17: for channel c, in units of the argument's own times 2^-shift,
///     x_sum * x_multiplier[c] + h_sum * h_multiplier[c] + biases
/// Sums below 2^39, multipliers at most 2^22, biases at most 2^60, a shift from 1 to 40. A GRU's bias of the state is apart.
struct gate_arguments_int16 {
    const std::int32_t *x_multiplier, *h_multiplier;
    const std::int64_t *x_bias, *h_bias;
    int shift;

    std::int64_t from_input(std::size_t c, std::int64_t sum) const noexcept {
        return sum * x_multiplier[c] + x_bias[c];
    }
    std::int64_t from_state(std::size_t c, std::int64_t sum) const noexcept {
        return sum * h_multiplier[c] + h_bias[c];
    }
    std::int64_t rounded(std::int64_t sum) const noexcept { return shift_half_even(sum, shift); }
};

/// The nearest integer that int32 holds.
inline std::int32_t clamp_to_state(std::int64_t value) noexcept {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
}

/// One step of an LSTM cell, gates i, f, g, o:
///     c = rne((f * c + i * g * 2^11) / 2^15) in int32,  h = rne(o * tanh(rne(c / 2^9)) / 2^15) in int16
inline void lstm_gates_int16(const gate_tables_int16& tables, const gate_arguments_int16& arguments,
                             const std::int64_t* x_sums, const std::int64_t* h_sums, std::size_t count, std::int32_t* c,
                             std::int16_t* h) noexcept {
    for (std::size_t i = 0; i != count; ++i) {
        const auto gate = [&](const auto& table, std::size_t which) {
            const std::size_t k = which * count + i;
            return tables.at(
                table, arguments.rounded(arguments.from_input(k, x_sums[k]) + arguments.from_state(k, h_sums[k])));
        };
        const std::int64_t kept = gate(tables.sigmoid, 1) * c[i];
        const std::int64_t added = gate(tables.sigmoid, 0) * gate(tables.tanh, 2) * 2048;
        c[i] = clamp_to_state(shift_half_even(kept + added, 15));
        const std::int64_t bounded = tables.at(tables.tanh, shift_half_even(c[i], 9));
        h[i] = static_cast<std::int16_t>(shift_half_even(gate(tables.sigmoid, 3) * bounded, 15));
    }
}

/// One step of a GRU cell, gates r, z, n; `state` is h with 32 bits:
///     n = tanh(x_n + rne(r * h_n / 2^15)) * 2^15,  state = n + rne(z * (state - n) / 2^15),  h = rne(state / 2^15)
inline void gru_gates_int16(const gate_tables_int16& tables, const gate_arguments_int16& arguments,
                            const std::int64_t* x_sums, const std::int64_t* h_sums, std::size_t count,
                            std::int32_t* state, std::int16_t* h) noexcept {
    for (std::size_t i = 0; i != count; ++i) {
        const auto from_input = [&](std::size_t gate) {
            return arguments.from_input(gate * count + i, x_sums[gate * count + i]);
        };
        const auto from_state = [&](std::size_t gate) {
            return arguments.from_state(gate * count + i, h_sums[gate * count + i]);
        };
        const std::int64_t reset = tables.at(tables.sigmoid, arguments.rounded(from_input(0) + from_state(0)));
        const std::int64_t update = tables.at(tables.sigmoid, arguments.rounded(from_input(1) + from_state(1)));
        // Arguments beyond 2^45 are as far out as these, and the product with r stays in int64.
        const std::int64_t hidden =
            std::clamp<std::int64_t>(arguments.rounded(from_state(2)), -(std::int64_t{1} << 45), std::int64_t{1} << 45);
        const std::int64_t argument = arguments.rounded(from_input(2)) + shift_half_even(reset * hidden, 15);
        const std::int64_t fresh = tables.at(tables.tanh, argument) * 32768;
        state[i] = clamp_to_state(fresh + shift_half_even(update * (state[i] - fresh), 15));
        h[i] = static_cast<std::int16_t>(std::min<std::int64_t>(shift_half_even(state[i], 15), 32767));
    }
}

}  // namespace zp::inline v0::kernel
