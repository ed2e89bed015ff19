// SPDX-License-Identifier: BSD-3-Clause
// exp, erf, tanh and the activations made of them in float, with the same bits on every architecture.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

// Libraries differ in the last bits of these functions, and codes are made of what they return. Functions here are one template
// for scalars and vectors, and round each operation.

namespace zp::inline v0::kernel {

/// 2^n for the integer n nearest to x in [-126, 127], halves to even, and that n as a float.
[[gnu::always_inline]] inline float nearest_power_of_two(float x, float& n) noexcept {
    n = std::nearbyint(x);
    return std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<float, Arch> nearest_power_of_two(const xsimd::batch<float, Arch>& x,
                                                                             xsimd::batch<float, Arch>& n) noexcept {
    const xsimd::batch<std::int32_t, Arch> whole = round_to_nearest(x);
    n = xsimd::to_float(whole);
    return xsimd::bitwise_cast<float>((whole + 127) << 23);
}

/// 2^n * P(x - n * log(2)) for the n nearest to bounded / log(2), with the log in two parts, P of degree 6 fitted to
/// [-log(2) / 2, log(2) / 2] (4e-9 in exact arithmetic). `bounded` is x within [-87, 88], any of those where x is NaN.
template <class Number>
[[gnu::always_inline]] inline Number exp_within_bounds(const Number& x, const Number& bounded) noexcept {
    constexpr float p[] = {1.0f,
                           1.0f,
                           0.4999999403953552f,
                           0.16666515171527863f,
                           0.04166845232248306f,
                           0.00836942158639431f,
                           0.0013813353143632412f};
    Number n;
    const Number power = nearest_power_of_two(rounded(Number(bounded * Number(1.44269504f))), n);
    const Number coarse = x - rounded(Number(n * Number(0.693359375f)));
    const Number rest = coarse - rounded(Number(n * Number(-2.12194440e-4f)));
    return rounded(Number(polynomial(rest, p) * power));
}

/// exp(x) within 3e-7 of itself for x that is at most 0 or NaN; 0 below -87, NaN of NaN.
template <class Number> [[gnu::always_inline]] inline Number exp_of_nonpositive(const Number& x) noexcept {
    const Number low(-87.0f);
    const Number y = exp_within_bounds(x, Number(choose_number(x > low, x, low)));
    return choose_number(x < low, Number(0.0f), y);
}

/// tanh(x) within 4e-7 of itself, odd, in [-1, 1]; NaN gives NaN. x * P(x^2) / Q(x^2), fitted to [0, 9] by least squares
/// with weights that even out the relative error (2e-8 in exact arithmetic); tanh(9) is the last float below 1.
template <class Number> [[gnu::always_inline]] inline Number bounded_tanh(const Number& x) noexcept {
    constexpr float p[] = {1.0f, 0.13381026685237885f, 0.003495589829981327f, 2.0609104467439465e-05f,
                           1.3354682693034192e-08f};
    constexpr float q[] = {1.0f, 0.4671434164047241f, 0.02587698958814144f, 0.00032856373582035303f,
                           7.776569077577733e-07f};
    const Number inside = within(x, Number(9.0f));
    const Number square = rounded(Number(inside * inside));
    const Number y = divide_numbers(rounded(Number(inside * polynomial(square, p))), polynomial(square, q));
    return within(y, Number(1.0f));
}

/// 1 / (1 + exp(-x)) as (tanh(x / 2) + 1) / 2, within 3e-7; the halves are exact.
template <class Number> [[gnu::always_inline]] inline Number bounded_sigmoid(const Number& x) noexcept {
    const Number half(0.5f);
    return half * bounded_tanh(Number(half * x)) + half;
}

/// x within [-limit, limit]; of NaN anything.
[[gnu::always_inline]] inline float limit_number(float x, float limit) noexcept {
    const float above = x > -limit ? x : -limit;
    return above < limit ? above : limit;
}
template <class Arch>
[[gnu::always_inline]] inline xsimd::batch<float, Arch> limit_number(const xsimd::batch<float, Arch>& x,
                                                                     float limit) noexcept {
    using floats = xsimd::batch<float, Arch>;
    return xsimd::min(xsimd::max(x, floats(-limit)), floats(limit));
}

/// x * (1 + erf(x / sqrt(2))) / 2, PyTorch's gelu: within 4e-7 * |x|, NaN of NaN. x * (1 / 2 + x * P(x^2) / Q(x^2)), the
/// quotient fitted to [0, 5.3] for the least largest error (7e-8 in exact arithmetic), with a last bit more in P's last
/// coefficient, so that it ends in 1 / 2: x is gelu of large x, and 0 of large -x.
template <class Number> [[gnu::always_inline]] inline Number bounded_gelu(const Number& x) noexcept {
    constexpr float p[] = {0.3989418148994446f, 0.05206499621272087f, 0.00569901755079627f, 0.0003415596147533506f,
                           6.263673640205525e-06f};
    constexpr float q[] = {1.0f,
                           0.29716694355010986f,
                           0.03882652148604393f,
                           0.0028631321620196104f,
                           0.00012250954750925303f,
                           5.297407028592716e-07f};
    const Number inside = limit_number(x, 5.3f);
    const Number square = rounded(Number(inside * inside));
    const Number y = divide_numbers(rounded(Number(inside * polynomial(square, p))), polynomial(square, q));
    return x * (Number(0.5f) + limit_number(y, 0.5f));
}

}  // namespace zp::inline v0::kernel
