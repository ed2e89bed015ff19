// The gates of recurrent cells in integers: sums of two products through tables to a state of 16 bits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>

// What a gate reads is rounded to 12 bits of scale 2^-8, from -8 to 8, where sigmoid and tanh are tables. Outputs of
// tables have scale 2^-15, the cell of an LSTM 2^-11, outputs of a layer 2^-7. All of it is integers.

namespace zp {
inline namespace v0 {
namespace kernel {

inline constexpr int gate_table_size = 4096;
inline constexpr float integer_state_scale = 0x1p-7f;  ///< of the outputs, whose zero point is 0

/// sigmoid and tanh of (index - 2048) / 256, times 2^15, the nearest integers below 2^15.
struct gate_tables {
    std::array<std::int16_t, gate_table_size> sigmoid, tanh;

    gate_tables() {
        const auto code = [](double value) {
            return static_cast<std::int16_t>(std::min<std::int64_t>(round_half_even(value * 32768), 32767));
        };
        for (std::size_t i = 0; i != gate_table_size; ++i) {
            const double x = (static_cast<double>(i) - gate_table_size / 2) / 256;
            sigmoid[i] = code(1 / (1 + std::exp(-x)));
            tanh[i] = code(std::tanh(x));
        }
    }
};

/// What makes gates' arguments of sums: for channel c, in units of the argument's own times 2^-shift,
///     x_sum * x_multiplier[c] + h_sum * h_multiplier[c] + biases
/// What multipliers and biases are bounded by keeps sums in int64. A GRU's bias of the state is apart.
struct gate_factors {
    const std::int32_t *x_multiplier, *h_multiplier;
    const std::int64_t *x_bias, *h_bias;
    int shift;

    std::int64_t from_input(std::size_t c, std::int64_t sum) const noexcept {
        return sum * x_multiplier[c] + x_bias[c];
    }
    std::int64_t from_state(std::size_t c, std::int64_t sum) const noexcept {
        return sum * h_multiplier[c] + h_bias[c];
    }
};

/// Those of arguments of scale 2^-8: multipliers below 2^30, biases at most 2^60, a shift from 15 to 45.
struct gate_arguments : gate_factors {
    /// The index of a table.
    std::size_t index(std::int64_t sum) const noexcept { return index_of(shift_half_even(sum, shift)); }
    static std::size_t index_of(std::int64_t argument) noexcept {
        constexpr std::int64_t half = gate_table_size / 2;
        return static_cast<std::size_t>(std::clamp(argument, -half, half - 1) + half);
    }
};

template <class Code> constexpr Code clamp_to(std::int64_t value, std::int64_t low, std::int64_t high) {
    return static_cast<Code>(std::clamp(value, low, high));
}

/// One step of an LSTM cell, gates i, f, g, o:
///     c = rne((f * c * 2^4 + i * g) / 2^19) in int16,  h = rne(o * tanh(c) / 2^23) in int8
inline void integer_lstm_gates(const gate_tables& tables, const gate_arguments& arguments, const std::int32_t* x_sums,
                               const std::int32_t* h_sums, std::size_t count, std::int16_t* c,
                               std::int8_t* h) noexcept {
    for (std::size_t i = 0; i != count; ++i) {
        const auto index = [&](std::size_t gate) {
            const std::size_t k = gate * count + i;
            return arguments.index(arguments.from_input(k, x_sums[k]) + arguments.from_state(k, h_sums[k]));
        };
        const std::int64_t kept = std::int64_t{tables.sigmoid[index(1)]} * c[i] * 16;
        const std::int64_t added = std::int64_t{tables.sigmoid[index(0)]} * tables.tanh[index(2)];
        c[i] = clamp_to<std::int16_t>(shift_half_even(kept + added, 19), -32768, 32767);
        const std::int64_t bounded = tables.tanh[gate_arguments::index_of(shift_half_even(c[i], 3))];
        h[i] = clamp_to<std::int8_t>(shift_half_even(tables.sigmoid[index(3)] * bounded, 23), -128, 127);
    }
}

/// One step of a GRU cell, gates r, z, n; `state` is its state with 16 bits of scale 2^-15, h the same with 8:
///     n = tanh(x_n + rne(r * rne(h_n / 2^15))),  state = rne((n * 2^15 + z * (state - n)) / 2^15),  h = rne(state / 2^8)
inline void integer_gru_gates(const gate_tables& tables, const gate_arguments& arguments, const std::int32_t* x_sums,
                              const std::int32_t* h_sums, std::size_t count, std::int16_t* state,
                              std::int8_t* h) noexcept {
    for (std::size_t i = 0; i != count; ++i) {
        const auto from_input = [&](std::size_t gate) {
            return arguments.from_input(gate * count + i, x_sums[gate * count + i]);
        };
        const auto from_state = [&](std::size_t gate) {
            return arguments.from_state(gate * count + i, h_sums[gate * count + i]);
        };
        const std::int64_t reset = tables.sigmoid[arguments.index(from_input(0) + from_state(0))];
        const std::int64_t update = tables.sigmoid[arguments.index(from_input(1) + from_state(1))];
        const std::int64_t hidden = reset * shift_half_even(from_state(2), 15);
        const std::int64_t fresh = tables.tanh[arguments.index(from_input(2) + hidden)];
        const std::int64_t mixed = fresh * 32768 + update * (state[i] - fresh);
        state[i] = clamp_to<std::int16_t>(shift_half_even(mixed, 15), -32768, 32767);
        h[i] = clamp_to<std::int8_t>(shift_half_even(state[i], 8), -128, 127);
    }
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
