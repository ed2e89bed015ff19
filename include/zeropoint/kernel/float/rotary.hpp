// SPDX-License-Identifier: BSD-3-Clause
// Rotary positions (Su 2021): pairs of channels turned by an angle that grows with the place; the same bits on every architecture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>

namespace zp::inline v0 {

/// How frequencies of rotary positions are divided for texts longer than those that a network was first trained with, as
/// `rope_scaling` says in Hugging Face's configs (transformers, modeling_rope_utils.py). By default they stay as they are.
struct rotary_scaling {
    int factor =
        1;  // divides all frequencies, rope_type "linear"; with the other three those of long waves alone, "llama3"
    int low_freq_factor = 0, high_freq_factor = 0;  // 1 and 4 in Llama 3.1 and 3.2; 0: "linear"
    int original_context = 0;                       // original_max_position_embeddings: 8192 there

    constexpr bool operator==(const rotary_scaling&) const = default;
    /// Whether frequencies are divided by how long their waves are.
    constexpr bool is_by_wave() const { return high_freq_factor != 0; }
    /// Whether the numbers make sense together.
    constexpr bool is_possible() const {
        if (factor < 1) return false;
        if (!is_by_wave()) return low_freq_factor == 0 && original_context == 0;
        return low_freq_factor >= 1 && high_freq_factor > low_freq_factor && original_context >= 1;
    }
};

namespace kernel {

/// A frequency as rotary_scaling changes it: with wave = 2 pi / frequency and n = original_context / wave, how often it turns in the first
/// training's texts, the frequency itself where n > high_freq_factor, frequency / factor where n < low_freq_factor, and between them
/// both, by t = (n - low_freq_factor) / (high_freq_factor - low_freq_factor): ((1 - t) / factor + t) * frequency.
constexpr double scaled_frequency(double frequency, const rotary_scaling& scaling) {
    if (!scaling.is_by_wave()) return frequency / scaling.factor;
    const double turns = scaling.original_context * frequency / 6.28318530717958647693;
    const double low = scaling.low_freq_factor, high = scaling.high_freq_factor;
    if (turns > high) return frequency;
    if (turns < low) return frequency / scaling.factor;
    const double t = (turns - low) / (high - low);
    return ((1 - t) / scaling.factor + t) * frequency;
}

/// theta^(-2 i / depth) for i below depth / 2, scaled, each the nearest float or a neighbour of it: by theta = 2^n * m, the series of
/// log m = 2 artanh((m - 1) / (m + 1)), and that of exp.
template <int Depth>
constexpr std::array<float, static_cast<std::size_t>(Depth / 2)> rotary_frequencies(
    double theta, const rotary_scaling& scaling = rotary_scaling{}) {
    constexpr double log_2 = 0.69314718055994530942;
    int halvings = 0;
    double m = theta;
    for (; m > 1.5; m /= 2) ++halvings;
    const double ratio = (m - 1) / (m + 1);
    double log = 0, power = ratio;
    for (int k = 1; k < 60; k += 2, power *= ratio * ratio) log += 2 * power / k;
    log += halvings * log_2;
    std::array<float, static_cast<std::size_t>(Depth / 2)> all{};
    for (std::size_t i = 0; i != all.size(); ++i) {
        const double exponent = log * 2 * static_cast<double>(i) / Depth;
        const auto whole = static_cast<int>(exponent / log_2);
        const double rest = -(exponent - whole * log_2);
        double term = 1, sum = 1;
        for (int k = 1; k < 30; ++k) sum += term *= rest / k;
        for (int k = 0; k != whole; ++k) sum /= 2;
        all[i] = static_cast<float>(scaled_frequency(sum, scaling));
    }
    return all;
}

struct sine_and_cosine {
    float sine, cosine;
};
/// Of 0 <= angle < 2^20, within 0.51 units in the last place: what is left of quarters of a turn, and series to its 14th power.
inline sine_and_cosine sine_and_cosine_of(float angle) noexcept {
    const double x{angle};
    const auto quarters = round_half_even(rounded(x * 0.63661977236758134308));
    // pi / 2 as 33 bits and the rest: the first product is exact.
    const double turned = static_cast<double>(quarters);
    const double r = (x - rounded(turned * 1.57079632673412561417)) - rounded(turned * 6.07710050650619224932e-11);
    const double z = rounded(r * r);
    const auto series = [z](const double(&terms)[7]) {
        double sum = terms[6];
        for (int i = 5; i >= 0; --i) sum = rounded(sum * z) + terms[i];
        return sum;
    };
    constexpr double of_sine[7] = {
        1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0};
    constexpr double of_cosine[7] = {1,           -1.0 / 2,         1.0 / 24,         -1.0 / 720,
                                     1.0 / 40320, -1.0 / 3628800.0, 1.0 / 479001600.0};
    const auto sine = static_cast<float>(r * series(of_sine)), cosine = static_cast<float>(series(of_cosine));
    switch (quarters & 3) {
        case 0: return {sine, cosine};
        case 1: return {cosine, -sine};
        case 2: return {-sine, -cosine};
        default: return {-cosine, sine};
    }
}

/// y = x of `depth` values, where x[i] and x[i + depth / 2] are turned by the i-th of `turns`: Llama's halves, not neighbours.
/// Each product rounded.
inline void rotate_halves(const float* x, int depth, const sine_and_cosine* turns, float* y) noexcept {
    const int half = depth / 2;
    for (int i = 0; i != half; ++i) {
        const float first = x[i], second = x[i + half];
        y[i] = rounded(first * turns[i].cosine) - rounded(second * turns[i].sine);
        y[i + half] = rounded(second * turns[i].cosine) + rounded(first * turns[i].sine);
    }
}

}  // namespace kernel
}  // namespace zp::inline v0
