// SPDX-License-Identifier: BSD-3-Clause
// The oracle of LSTM and GRU layers over 8-bit codes: their definition as loops, one unit at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zeropoint/kernel/recurrent/word_functions.hpp>

namespace zp::inline v0::kernel::reference {

/// floor(value / 2^bits), and the same of value + 2^(bits - 1).
constexpr std::int64_t floored(std::int64_t value, int bits) {
    const std::int64_t unit = std::int64_t{1} << bits;
    return value / unit - (value % unit < 0 ? 1 : 0);
}
constexpr std::int64_t rounded(std::int64_t value, int bits) {
    return floored(value + (std::int64_t{1} << bits) / 2, bits);
}
constexpr std::int64_t to_words(std::int64_t value) { return std::clamp<std::int64_t>(value, -32768, 32767); }

/// v of scale 2^-12 to 2^-15, as kernel/recurrent/word_functions.hpp says it.
constexpr std::int64_t tanh_of_word(std::int64_t v) {
    if (v < 0) return -tanh_of_word(-v);
    const std::int64_t w = v <= 14336 ? v : 14336 + (v - 14336) / 16;
    const auto cubic = static_cast<std::size_t>(w / 2048);
    const std::int64_t t = w % 2048 * 16;
    std::int64_t p = tanh_cubics::coefficients[3][cubic];
    for (std::size_t i = 3; i-- != 0;) p = tanh_cubics::coefficients[i][cubic] + rounded(p * t, 15);
    return std::min<std::int64_t>(p, 32767);
}
/// v of scale 2^-11.
constexpr std::int64_t sigmoid_of_word(std::int64_t v) { return 16384 + floored(tanh_of_word(v), 1); }

/// The integers of a layer: int8 weights of gates * hidden rows, symmetric, and what makes arguments of their sums with the input and
/// with the state, a bias each.
struct recurrent_cell_integers {
    bool is_lstm;
    int inputs, hidden, shift;
    std::vector<std::int8_t> x, h;
    std::vector<std::int32_t> x_multiplier, h_multiplier;
    std::vector<std::int64_t> x_bias, h_bias;
};

/// One step: x has inputs codes. Of an LSTM `carried` is c of scale 2^-11, of a GRU its h of scale 2^-15; h has scale 2^-7.
template <class Code>
void recurrent_step(const recurrent_cell_integers& cell, const Code* x, std::int32_t zero_point,
                    std::vector<std::int16_t>& carried, std::vector<std::int8_t>& h) {
    const auto hidden = static_cast<std::size_t>(cell.hidden), inputs = static_cast<std::size_t>(cell.inputs);
    const std::vector<std::int8_t> old = h;
    const auto x_part = [&](std::size_t row) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i != inputs; ++i) sum += (std::int64_t{x[i]} - zero_point) * cell.x[row * inputs + i];
        return sum * cell.x_multiplier[row] + cell.x_bias[row];
    };
    const auto h_part = [&](std::size_t row) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i != hidden; ++i) sum += std::int64_t{old[i]} * cell.h[row * hidden + i];
        return sum * cell.h_multiplier[row] + cell.h_bias[row];
    };
    for (std::size_t unit = 0; unit != hidden; ++unit) {
        const auto word = [&](std::size_t gate) {
            const std::size_t row = gate * hidden + unit;
            return to_words(rounded(x_part(row) + h_part(row), cell.shift));
        };
        std::int64_t now, out;
        if (cell.is_lstm) {
            const std::int64_t i = sigmoid_of_word(word(0)), f = sigmoid_of_word(word(1)), g = tanh_of_word(word(2)),
                               o = sigmoid_of_word(word(3));
            now = to_words(rounded(f * carried[unit] + rounded(i * g, 4), 15));
            out = rounded(o * tanh_of_word(to_words(2 * now)), 15);
        } else {
            const std::size_t row = 2 * hidden + unit;
            const std::int64_t r = sigmoid_of_word(word(0)), z = sigmoid_of_word(word(1)),
                               h_n = rounded(h_part(row), cell.shift), x_n = rounded(x_part(row), cell.shift);
            const std::int64_t n = tanh_of_word(to_words(rounded(x_n + rounded(r * h_n, 15), 2)));
            now = rounded(n * 32768 + z * (carried[unit] - n), 15);
            out = now;
        }
        carried[unit] = static_cast<std::int16_t>(now);
        h[unit] = static_cast<std::int8_t>(std::min<std::int64_t>(rounded(out, 8), 127));
    }
}

}  // namespace zp::inline v0::kernel::reference
