// SPDX-License-Identifier: BSD-3-Clause
// Scales and zero points that are trained: learned step sizes (LSQ, LSQ+) and clipping values (PACT).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/core/rounding.hpp>
#include <zeropoint/kernel/gradient/fake_quantize.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/scheme/qparams.hpp>
#include <zeropoint/training/fake_quantize.hpp>

// Sources: Esser et al., "Learned Step Size Quantization" (2020); Bhalgat et al., "LSQ+" (2020); Choi et al., "PACT" (2018);
// PyTorch's torch.ao.quantization._learnable_fake_quantize.

namespace zp::inline v0 {

/// The smallest learned scale, as in PyTorch: the float32 epsilon.
inline constexpr float smallest_learned_scale = 0x1p-23f;

/// Scale and zero point as training changes them. LSQ+'s offset is beta = -zero_point * scale.
struct learned_qparams {
    float scale = 1;       // above 0
    float zero_point = 0;  // not rounded

    constexpr bool operator==(const learned_qparams&) const = default;
};

/// What both training and conversion quantize with: the zero point rounded half to even and clamped to the codes, the scale at
/// least smallest_learned_scale. A value_error for numbers that are not finite.
constexpr qparams to_qparams(const learned_qparams& learned, code_bounds bounds) {
    if (!is_finite(learned.scale) || !is_finite(learned.zero_point))
        raise<value_error>("to_qparams: expected a finite learned scale and zero point, got " +
                           number_text(learned.scale) + " and " + number_text(learned.zero_point) +
                           ": the learning rate of scales is too high");
    const float clamped =
        std::clamp(learned.zero_point, static_cast<float>(bounds.quant_min), static_cast<float>(bounds.quant_max));
    return {std::max(learned.scale, smallest_learned_scale), round_half_even(clamped)};
}

/// Raises scales below `floor` to it, and returns how many were: a number to report, because a scale that stays there is not
/// trained.
constexpr std::size_t apply_scale_floor(std::span<float> scales, float floor = smallest_learned_scale) {
    std::size_t hits = 0;
    for (float& scale : scales)
        if (scale < floor) scale = floor, ++hits;
    return hits;
}

/// What the gradients of scale and zero point are multiplied by. Optimizers that are invariant to it (Adam) need none; with SGD
/// `lsq` keeps a step of the scale, relative to the scale, near the weights' (the paper: `none` diverges at 2 bits).
enum class gradient_scaling {
    none,     ///< 1; PyTorch's default
    lsq,      ///< 1 / sqrt(N * quant_max)
    by_count  ///< 1 / sqrt(N)
};
/// N: the weights of a layer, or the values of one sample for activations (the paper); PyTorch counts the whole batch.
inline float gradient_factor(gradient_scaling scaling, std::size_t n, code_bounds bounds) {
    if (scaling == gradient_scaling::none || n == 0) return 1;
    const double most = scaling == gradient_scaling::lsq ? bounds.quant_max : 1;
    return static_cast<float>(1 / std::sqrt(static_cast<double>(n) * most));
}

/// The gradients of fake_quantize() of x by `channels` (as there): dx[i] = dy[i] where the code needed no clamping, else 0, and,
/// summed over each channel and multiplied by `factor`,
///   dscale       dy * (code - zero_point - x / scale), without x / scale where the code was clamped
///   dzero_point  -dy * scale where the code was clamped; an empty span where it is not learned
/// Rounding is taken for the identity. Sums are in double, in a fixed order. dx may be dy.
template <class Arch = default_architecture>
void learned_step_backward(std::span<const float> x, std::span<const float> dy, std::span<const qparams> channels,
                           std::size_t inner, code_bounds bounds, float factor, std::span<float> dx,
                           std::span<float> dscale, std::span<float> dzero_point = {}) {
    const char* const name = "learned_step_backward";
    require_fake_quantizable(x.size(), channels, inner, bounds, name);
    require_equal_sizes(x.size(), dy.size(), name, "dy");
    require_equal_sizes(x.size(), dx.size(), name, "dx");
    require_equal_sizes(channels.size(), dscale.size(), name, "dscale");
    if (!dzero_point.empty()) require_equal_sizes(channels.size(), dzero_point.size(), name, "dzero_point");
    std::vector<kernel::learned_sums> sums(channels.size());
    for_each_run(x.size(), channels.size(), inner, [&](std::size_t first, std::size_t count, std::size_t c) {
        const kernel::fake_quantizer by(channels[c].scale, channels[c].zero_point, bounds.quant_min, bounds.quant_max);
        const kernel::learned_sums more =
            kernel::learned_step_backward<Arch>(x.data() + first, dy.data() + first, count, by, dx.data() + first);
        sums[c].steps += more.steps;
        sums[c].clipped += more.clipped;
    });
    for (std::size_t c = 0; c != channels.size(); ++c) {
        dscale[c] = static_cast<float>(sums[c].steps * static_cast<double>(factor));
        if (!dzero_point.empty())
            dzero_point[c] = static_cast<float>(-static_cast<double>(channels[c].scale) * sums[c].clipped *
                                                static_cast<double>(factor));
    }
}

// ---- initial values ----

/// Count, sum and the like of values, in double in a fixed order.
struct value_moments {
    std::size_t count = 0;  // how many values; their sum, that of their squares, that of their sizes
    double sum = 0, sum_of_squares = 0, sum_of_magnitudes = 0;  // of the values, of their squares, of their sizes

    /// sum / count.
    double mean() const { return sum / static_cast<double>(count); }
    /// Biased, as LSQ+ takes it of weights.
    double deviation() const {
        const double variance = sum_of_squares / static_cast<double>(count) - kernel::rounded(mean() * mean());
        return std::sqrt(std::max(variance, 0.0));
    }
};
/// Of these values, with the same bits for any architecture.
template <class Arch = default_architecture> value_moments moments_of(std::span<const float> x) {
    const auto value = [&](std::size_t i) { return static_cast<double>(x[i]); };
    return {x.size(), kernel::sum_in_double<Arch>(x.size(), value),
            kernel::sum_in_double<Arch>(x.size(), [&](std::size_t i) { return value(i) * value(i); }),
            kernel::sum_in_double<Arch>(x.size(), [&](std::size_t i) { return value(i) < 0 ? -value(i) : value(i); })};
}
inline float checked_initial_scale(double scale, std::size_t count, const char* function) {
    const auto rounded = static_cast<float>(scale);
    if (count == 0 || !is_finite(rounded))
        raise<value_error>(std::string(function) + ": expected finite values, at least one, got " +
                           std::to_string(count) + " and from them the scale " + number_text(rounded));
    return std::max(rounded, smallest_learned_scale);
}

/// LSQ: 2 * mean|x| / sqrt(quant_max), of weights or of a first batch.
template <class Arch = default_architecture> float initial_scale_lsq(std::span<const float> x, code_bounds bounds) {
    const value_moments seen = moments_of<Arch>(x);
    const double mean = seen.sum_of_magnitudes / static_cast<double>(x.size());
    return checked_initial_scale(2 * mean / std::sqrt(static_cast<double>(bounds.quant_max)), x.size(),
                                 "initial_scale_lsq");
}
/// LSQ+, weights: max(|mean - 3 deviations|, |mean + 3 deviations|) / 2^(bits - 1), with 2^(bits - 1) = quant_max + 1.
template <class Arch = default_architecture>
float initial_scale_lsq_plus(std::span<const float> x, code_bounds bounds) {
    const value_moments seen = moments_of<Arch>(x);
    const double mean = seen.mean(), three = 3 * seen.deviation();
    const double most = std::max(std::fabs(mean - three), std::fabs(mean + three));
    return checked_initial_scale(most / (static_cast<double>(bounds.quant_max) + 1), x.size(),
                                 "initial_scale_lsq_plus");
}
/// LSQ+, activations with an offset, of the range of a first batch: scale (max - min) / (quant_max - quant_min), and the offset
/// min - quant_min * scale as the zero point -offset / scale. The range is widened to hold zero, which has a code here.
inline learned_qparams initial_qparams_lsq_plus(float min, float max, code_bounds bounds) {
    const double low = std::min(min, 0.0f), high = std::max(max, 0.0f);
    const double steps = static_cast<double>(bounds.quant_max) - bounds.quant_min;
    const float scale = checked_initial_scale((high - low) / steps, 1, "initial_qparams_lsq_plus");
    return {scale, static_cast<float>(bounds.quant_min - low / static_cast<double>(scale))};
}

// ---- PACT ----

/// clip(x, 0, alpha) on quant_max steps: an activation whose upper end is trained.
struct pact {
    float alpha = 6;  // the upper end, above 0

    /// Scale and zero point on the codes of `bounds`.
    constexpr qparams params(code_bounds bounds) const { return {alpha / static_cast<float>(bounds.quant_max), 0}; }
};
/// dx[i] = dy[i] for x within [0, alpha), else 0. Returns alpha's gradient, the sum of dy where x >= alpha, plus that of
/// l2 * alpha^2 / 2, the paper's regularization. dx may be dy.
template <class Arch = default_architecture>
float pact_backward(std::span<const float> x, std::span<const float> dy, const pact& activation, std::span<float> dx,
                    double l2 = 0) {
    require_equal_sizes(x.size(), dy.size(), "pact_backward", "dy");
    require_equal_sizes(x.size(), dx.size(), "pact_backward", "dx");
    const double sum = kernel::pact_backward<Arch>(x.data(), dy.data(), x.size(), activation.alpha, dx.data());
    return static_cast<float>(sum + l2 * static_cast<double>(activation.alpha));
}

}  // namespace zp::inline v0
