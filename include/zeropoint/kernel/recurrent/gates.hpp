// The gates of recurrent cells in float: sums of two products through sigmoid and tanh to the next state.
#pragma once

#include <cstddef>
#include <type_traits>

#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// A state is quantized again in the next step, so that a last bit can become a code, and codes the result. Functions here
// have the same bits on every architecture: rational functions, each operation rounded on its own. The scalar and the
// vector form are one template.

namespace zp {
inline namespace v0 {
namespace kernel {

/// tanh(x) within 4e-7 of itself, odd, in [-1, 1]; NaN gives NaN. x * P(x^2) / Q(x^2), fitted to [0, 9] by least squares
/// with weights that even out the relative error (2e-8 in exact arithmetic); tanh(9) is the last float below 1.
template <class Number> [[gnu::always_inline]] inline Number bounded_tanh(const Number& x) noexcept {
    constexpr float p[] = {1.0f, 0.13381026685237885f, 0.003495589829981327f, 2.0609104467439465e-05f,
                           1.3354682693034192e-08f};
    constexpr float q[] = {1.0f, 0.4671434164047241f, 0.02587698958814144f, 0.00032856373582035303f,
                           7.776569077577733e-07f};
    const Number limit(9.0f), one(1.0f);
    const Number below = choose_number(x > limit, limit, x);
    const Number inside = choose_number(below < -limit, Number(-limit), below);
    const Number square = rounded(Number(inside * inside));
    const Number y = divide_numbers(rounded(Number(inside * polynomial(square, p))), polynomial(square, q));
    const Number most = choose_number(y > one, one, y);
    return choose_number(most < -one, Number(-one), most);
}

/// 1 / (1 + exp(-x)) as (tanh(x / 2) + 1) / 2, within 3e-7; the halves are exact.
template <class Number> [[gnu::always_inline]] inline Number bounded_sigmoid(const Number& x) noexcept {
    const Number half(0.5f);
    return half * bounded_tanh(Number(half * x)) + half;
}

/// One step of an LSTM cell behind its products, a and b being 4 x count each, in PyTorch's order of gates i, f, g, o:
///     i = sigmoid(a_i + b_i), f = sigmoid(a_f + b_f), g = tanh(a_g + b_g), o = sigmoid(a_o + b_o)
///     c = f * c + i * g, h = o * tanh(c)
template <class Arch> void lstm_gates(const float* a, const float* b, std::size_t count, float* c, float* h) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const auto sum = [&](std::size_t gate) __attribute__((always_inline)) {
                return Number(load_number<Number>(a + gate * count + i) + load_number<Number>(b + gate * count + i));
            };
            const Number kept = bounded_sigmoid(sum(1)) * load_number<Number>(c + i);
            const Number added = bounded_sigmoid(sum(0)) * bounded_tanh(sum(2));
            const Number cell = rounded(kept) + rounded(added);
            store_number(cell, c + i);
            store_number(Number(bounded_sigmoid(sum(3)) * bounded_tanh(cell)), h + i);
        });
}

/// One step of a GRU cell behind its products, 3 x count each, gates r, z, n:
///     r = sigmoid(a_r + b_r), z = sigmoid(a_z + b_z), n = tanh(a_n + r * b_n), h = n + z * (h - n)
template <class Arch> void gru_gates(const float* a, const float* b, std::size_t count, float* h) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const auto from_input = [&](std::size_t gate) __attribute__((always_inline)) {
                return load_number<Number>(a + gate * count + i);
            };
            const auto from_state = [&](std::size_t gate) __attribute__((always_inline)) {
                return load_number<Number>(b + gate * count + i);
            };
            const Number reset = bounded_sigmoid(Number(from_input(0) + from_state(0)));
            const Number update = bounded_sigmoid(Number(from_input(1) + from_state(1)));
            const Number fresh = bounded_tanh(Number(from_input(2) + rounded(Number(reset * from_state(2)))));
            const Number old = load_number<Number>(h + i);
            store_number(Number(fresh + rounded(Number(update * (old - fresh)))), h + i);
        });
}

/// One step of an Elman cell behind its products: h = tanh(a + b) or max(a + b, 0), which is NaN for NaN.
template <class Arch> void rnn_tanh_gates(const float* a, const float* b, std::size_t count, float* h) noexcept {
    const auto gate = [](const auto& x, const auto& z) __attribute__((always_inline)) { return bounded_tanh(x + z); };
    map_values<ieee_vectors<Arch>>(count, h, gate, a, b);
}
template <class Arch> void rnn_relu_gates(const float* a, const float* b, std::size_t count, float* h) noexcept {
    const auto gate = [](const auto& x, const auto& z) __attribute__((always_inline)) {
        const auto sum = x + z;
        using Number = std::remove_const_t<decltype(sum)>;
        return choose_number(sum < Number(0.0f), Number(0.0f), sum);
    };
    map_values<ieee_vectors<Arch>>(count, h, gate, a, b);
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
