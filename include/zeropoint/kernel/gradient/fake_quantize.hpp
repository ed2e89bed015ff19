// SPDX-License-Identifier: BSD-3-Clause
// Fake quantization over arrays: floats to the nearest values that codes have, which of them were inside, and gradients.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/code_lanes.hpp>
#include <zeropoint/kernel/vector/ieee_floats.hpp>
#include <zeropoint/kernel/vector/map_codes.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

namespace zp::inline v0::kernel {

/// The codes of one scale and zero point: quant_min <= zero_point <= quant_max, codes of at most 16 bits, scale > 0.
struct fake_quantizer {
    float scale, inverse_scale;
    std::int32_t low, high;  ///< the outermost codes, counted from the zero point

    constexpr fake_quantizer(float scale_, std::int32_t zero_point, std::int32_t quant_min, std::int32_t quant_max)
        : scale(scale_), inverse_scale(1.0f / scale_), low(quant_min - zero_point), high(quant_max - zero_point) {}
};

/// What becomes of a float, or of a vector of them.
template <class Number> struct fake_quantized {
    using integer = decltype(nearest_integer(Number()));
    Number steps;     ///< x * (1 / scale), rounded; may be NaN
    integer nearest;  ///< rne(steps), at most one step beyond the ends; beyond the lower one where steps is NaN

    [[gnu::always_inline]] fake_quantized(const Number& x, const fake_quantizer& by) noexcept
        : steps(rounded(Number(x * Number(by.inverse_scale)))) {
        const Number below(static_cast<float>(by.low - 1)), above(static_cast<float>(by.high + 1));
        const Number raised = choose_number(steps > below, steps, below);  // and NaN is not greater
        nearest = nearest_integer(Number(choose_number(raised < above, raised, above)));
    }
    /// The code's distance from the zero point, as a float; that of the lowest code for NaN.
    [[gnu::always_inline]] Number code(const fake_quantizer& by) const noexcept {
        return float_of(clamp_number(nearest, by.low, by.high));
    }
    /// code * scale; 0 where steps is NaN.
    [[gnu::always_inline]] Number value(const fake_quantizer& by) const noexcept {
        return choose_number(steps == steps, Number(code(by) * Number(by.scale)), Number(0.0f));
    }
    /// 1 where the code needed no clamping, else 0.
    [[gnu::always_inline]] integer inside(const fake_quantizer& by) const noexcept {
        if constexpr (std::is_same_v<Number, float>) return nearest >= by.low && nearest <= by.high;
        else return xsimd::select((nearest >= integer(by.low)) & (nearest <= integer(by.high)), integer(1), integer(0));
    }
};

/// y[i] = (clamp(rne(x[i] * (1 / scale)) + z, quant_min, quant_max) - z) * scale, which is dequantize(quantize(x[i])): NaN gives
/// 0, an infinity the end of the range. mask[i] = 1 where the code before clamping is within [quant_min, quant_max], else 0
/// (NaN: 0): PyTorch's, whose gradient passes up to half a step beyond the ends. y may be x, or null for the mask alone.
template <class Arch>
void fake_quantize(const float* x, std::size_t count, const fake_quantizer& by, float* y, std::uint8_t* mask) noexcept {
    using vectors = ieee_vectors<Arch>;
    std::size_t i = 0;
    if constexpr (has_vectors<vectors>) {
        using floats = xsimd::batch<float, vectors>;
        for (; i + 4 * floats::size <= count; i += 4 * floats::size) {
            const auto quad = load_consecutive<vectors>(x + i);
            batch_quad<float, vectors> values;
            batch_quad<std::int32_t, vectors> inside;
#pragma GCC unroll 4
            for (std::size_t part = 0; part != 4; ++part) {
                const fake_quantized<floats> result(quad[part], by);
                values[part] = result.value(by);
                inside[part] = result.inside(by);
            }
            if (y != nullptr) store_consecutive<vectors>(y + i, values);
            store_consecutive<vectors>(mask + i, inside);
        }
    }
    for (; i != count; ++i) {
        const fake_quantized<float> result(x[i], by);
        if (y != nullptr) y[i] = result.value(by);
        mask[i] = static_cast<std::uint8_t>(result.inside(by));
    }
}
/// The same without a mask.
template <class Arch>
void fake_quantize(const float* x, std::size_t count, const fake_quantizer& by, float* y) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            store_number(fake_quantized<Number>(load_number<Number>(x + i), by).value(by), y + i);
        });
}

/// dx[i] = mask[i] ? dy[i] : 0, the straight-through gradient; dx may be dy.
template <class Arch>
void fake_quantize_backward(const float* dy, const std::uint8_t* mask, std::size_t count, float* dx) noexcept {
    using vectors = ieee_vectors<Arch>;
    std::size_t i = 0;
    if constexpr (has_vectors<vectors>) {
        using floats = xsimd::batch<float, vectors>;
        using ints = xsimd::batch<std::int32_t, vectors>;
        for (; i + 4 * floats::size <= count; i += 4 * floats::size) {
            const auto inside = load_consecutive<vectors>(mask + i);
            auto quad = load_consecutive<vectors>(dy + i);
#pragma GCC unroll 4
            for (std::size_t part = 0; part != 4; ++part)
                quad[part] =
                    xsimd::select(xsimd::batch_bool_cast<float>(inside[part] != ints(0)), quad[part], floats(0.0f));
            store_consecutive<vectors>(dx + i, quad);
        }
    }
    for (; i != count; ++i) dx[i] = mask[i] != 0 ? dy[i] : 0.0f;
}

/// Both at once: dx[i] = dy[i] where fake_quantize() of x[i] has mask 1, else 0; dx may be dy.
template <class Arch>
void pass_inside(const float* x, const float* dy, std::size_t count, const fake_quantizer& by, float* dx) noexcept {
    for_each_number<Arch>(
        count, [&](std::size_t i, auto number) __attribute__((always_inline)) {
            using Number = decltype(number);
            const fake_quantized<Number> result(load_number<Number>(x + i), by);
            const auto is_inside = float_of(result.nearest) == result.code(by);  // never of a NaN
            store_number(Number(choose_number(is_inside, load_number<Number>(dy + i), Number(0.0f))), dx + i);
        });
}

/// Sums that gradients of a scale and of a zero point are made of.
struct learned_sums {
    double steps = 0;    ///< of dy * (code - zero_point), less x / scale where the code needed no clamping
    double clipped = 0;  ///< of dy where the code was clamped
};

/// The gradient of learned step sizes, of x as fake_quantize() saw it: dx as fake_quantize_backward()'s; the scale's is
/// steps, the zero point's -scale * clipped. Products are exact and sums are in double in an order that is the same
/// everywhere. A NaN of x adds nothing. dx may be dy.
template <class Arch>
learned_sums learned_step_backward(const float* x, const float* dy, std::size_t count, const fake_quantizer& by,
                                   float* dx) noexcept {
    constexpr std::size_t block = 256;
    alignas(64) float factor[block], gradient[block], clipped[block];
    learned_sums sums;
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t n = std::min(block, count - first);
        for_each_number<Arch>(
            n, [&](std::size_t i, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                const Number value = load_number<Number>(x + first + i), g = load_number<Number>(dy + first + i);
                const Number zero(0.0f);
                const fake_quantized<Number> result(value, by);
                const Number code = result.code(by);
                const auto is_number = result.steps == result.steps;
                // The code that was not clamped is the nearest integer.
                const auto is_inside = is_number & (float_of(result.nearest) == code);
                const Number rest = choose_number(is_inside, Number(code - result.steps), code);
                store_number(Number(choose_number(is_number, rest, zero)), factor + i);
                store_number(g, gradient + i);
                const Number passed = choose_number(is_inside, g, zero);
                store_number(Number(choose_number(is_number, Number(choose_number(is_inside, zero, g)), zero)),
                             clipped + i);
                store_number(passed, dx + first + i);
            });
        sums.steps += sum_in_double<Arch>(
            n, [&](std::size_t i) { return static_cast<double>(gradient[i]) * static_cast<double>(factor[i]); });
        sums.clipped += sum_in_double<Arch>(n, [&](std::size_t i) { return static_cast<double>(clipped[i]); });
    }
    return sums;
}

/// PACT: dx = dy for x within [0, alpha), else 0, and the sum of dy where x >= alpha, which is the gradient of alpha. dx may
/// be dy.
template <class Arch>
double pact_backward(const float* x, const float* dy, std::size_t count, float alpha, float* dx) noexcept {
    double sum = 0;
    constexpr std::size_t block = 256;
    alignas(64) float above[block];
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t n = std::min(block, count - first);
        for_each_number<Arch>(
            n, [&](std::size_t i, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                const Number value = load_number<Number>(x + first + i), g = load_number<Number>(dy + first + i);
                const Number zero(0.0f), limit(alpha);
                store_number(Number(choose_number(value >= limit, g, zero)), above + i);
                store_number(Number(choose_number((value >= zero) & (value < limit), g, zero)), dx + first + i);
            });
        sum += sum_in_double<Arch>(n, [&](std::size_t i) { return static_cast<double>(above[i]); });
    }
    return sum;
}

}  // namespace zp::inline v0::kernel
