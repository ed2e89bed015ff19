// SPDX-License-Identifier: BSD-3-Clause
// Batch normalization in training: statistics of a mini-batch, and the gradients of its input and parameters.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <zeropoint/kernel/gradient/batch.hpp>

// With n values a channel, mean m, factor f = 1 / sqrt(variance + epsilon), h = (x - m) * f and y = gamma * h + beta:
//
//     dbeta = sum of dy,  dgamma = sum of dy * h
//     dx = gamma * f * (dy - dbeta / n - h * dgamma / n)      where m and f are those of these values
//     dx = gamma * f * dy                                     where they are frozen
//
// Forward is make_batch_norm() and batch_norm() of float/float_elementwise.hpp with either statistics. Sums are made in three
// steps, so that several blocks of a mini-batch, or several machines, may add theirs in between.

namespace zp::inline v0::kernel {

/// So many pixels of a sample are added in float, then to a sum in double.
inline constexpr std::ptrdiff_t pixels_together = 32;

/// sums[k * channels + c] += the sum over samples and pixels of number k of term(sample, offset, number), for c <
/// channels: offset is that of a pixel's channel c, and term gives `Count` numbers. Sums of pixels_together are floats,
/// those of all of these doubles.
template <class Arch, std::size_t Count, class Term>
[[gnu::always_inline]] inline void add_pixel_sums(int samples, std::ptrdiff_t pixels, std::size_t channels,
                                                  double* sums, const Term& term) noexcept {
    for (int sample = 0; sample != samples; ++sample) {
        for (std::ptrdiff_t first = 0; first < pixels; first += pixels_together) {
            const std::ptrdiff_t last = std::min(first + pixels_together, pixels);
            for_each_vector<Arch>(
                channels, [&](std::size_t c, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    constexpr std::size_t size = sizeof(Number) / sizeof(float);
                    std::array<Number, Count> partial;
                    partial.fill(Number(0.0f));
                    for (std::ptrdiff_t pixel = first; pixel != last; ++pixel) {
                        const std::array<Number, Count> terms =
                            term(sample, pixel * static_cast<std::ptrdiff_t>(channels), c, kind);
                        for (std::size_t k = 0; k != Count; ++k) partial[k] = partial[k] + terms[k];
                    }
                    for (std::size_t k = 0; k != Count; ++k) {
                        float lanes[size];
                        store_number(partial[k], lanes);
                        for (std::size_t i = 0; i != size; ++i)
                            sums[k * channels + c + i] += static_cast<double>(lanes[i]);
                    }
                });
        }
    }
}

/// sums[c] += x[c], and sums[channels + c] += x[c]^2, over samples and pixels. Both are sums of distances from the first of
/// pixels_together, moved to 0 in double: nothing is lost where a mean is large, and at most five bits where that one lies alone.
template <class Arch>
void add_batch_sums(int samples, const_float_batch x, std::ptrdiff_t pixels, std::size_t channels,
                    double* sums) noexcept {
    const auto step = static_cast<std::ptrdiff_t>(channels);
    for (int sample = 0; sample != samples; ++sample) {
        for (std::ptrdiff_t first = 0; first < pixels; first += pixels_together) {
            const std::ptrdiff_t count = std::min(pixels_together, pixels - first);
            const float* const begin = x[sample] + first * step;
            for_each_vector<Arch>(
                channels, [&](std::size_t c, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    constexpr std::size_t size = sizeof(Number) / sizeof(float);
                    const float* const values = begin + c;
                    const Number origin = load_number<Number>(values);
                    Number distances(0.0f), squares(0.0f);
                    for (std::ptrdiff_t pixel = 1; pixel < count; ++pixel) {
                        const Number distance = load_number<Number>(values + pixel * step) - origin;
                        distances = distances + distance;
                        squares = multiply_add(distance, distance, squares);
                    }
                    float lanes[3][size];
                    store_number(distances, lanes[0]);
                    store_number(squares, lanes[1]);
                    store_number(origin, lanes[2]);
                    for (std::size_t i = 0; i != size; ++i) {
                        const double apart = lanes[0][i], from = lanes[2][i], moved = static_cast<double>(count) * from;
                        sums[c + i] += apart + moved;
                        sums[channels + c + i] += lanes[1][i] + from * (2 * apart + moved);
                    }
                });
        }
    }
}

/// The mean and variance (divided by the count) of every channel from those sums of `count` values.
inline void batch_statistics(std::size_t channels, double count, const double* sums, float* mean,
                             float* variance) noexcept {
    for (std::size_t c = 0; c != channels; ++c) {
        const double middle = sums[c] / count;
        mean[c] = static_cast<float>(middle);
        variance[c] = static_cast<float>(std::max(sums[channels + c] / count - middle * middle, 0.0));
    }
}

/// PyTorch's running statistics: running = (1 - momentum) * running + momentum * that of a mini-batch of `count` values a
/// channel, of which the variance is the unbiased one. Of one value a channel there is none: the variance stays.
template <class Arch>
void update_running_statistics(std::size_t channels, double count, float momentum, const float* mean,
                               const float* variance, float* running_mean, float* running_variance) noexcept {
    const double unbiased = count / (count - 1);
    for (std::size_t c = 0; c != channels; ++c) {
        const auto blend = [momentum](float old, double value) {
            return static_cast<float>((1.0 - double{momentum}) * double{old} + double{momentum} * value);
        };
        running_mean[c] = blend(running_mean[c], double{mean[c]});
        if (count > 1) running_variance[c] = blend(running_variance[c], double{variance[c]} * unbiased);
    }
}

/// sums[c] += dy[c] and sums[channels + c] += dy[c] * (x[c] - mean[c]), over samples and pixels.
template <class Arch>
void add_batch_norm_gradient_sums(int samples, const_float_batch x, const_float_batch dy, std::ptrdiff_t pixels,
                                  std::size_t channels, const float* mean, double* sums) noexcept {
    add_pixel_sums<Arch, 2>(
        samples, pixels, channels,
        sums, [&](int sample, std::ptrdiff_t at, std::size_t c, auto kind) __attribute__((always_inline)) {
            using Number = decltype(kind);
            const Number given = load_number<Number>(dy[sample] + at + c);
            const Number distance = load_number<Number>(x[sample] + at + c) - load_number<Number>(mean + c);
            return std::array<Number, 2>{given, Number(given * distance)};
        });
}

/// The gradient by the input from those sums, of all blocks: dx = slope * (dy - shift - lean * (x - mean)) in each
/// channel. `count` is the number of values of a channel that mean and variance come from; 0 where they are frozen, and
/// then x is not read. A null gamma is ones. dx may be dy. `room` is for 3 * channels floats.
template <class Arch>
void batch_norm_input_gradient(int samples, const_float_batch x, const_float_batch dy, std::ptrdiff_t pixels,
                               std::size_t channels, const float* gamma, const float* mean, const float* variance,
                               float epsilon, double count, const double* sums, float_batch dx, float* room) noexcept {
    float *const slope = room, *const lean = room + channels, *const shift = room + 2 * channels;
    for (std::size_t c = 0; c != channels; ++c) {
        const double spread = double{variance[c]} + double{epsilon};
        slope[c] = static_cast<float>((gamma == nullptr ? 1.0 : double{gamma[c]}) / std::sqrt(spread));
        if (count == 0) continue;
        lean[c] = static_cast<float>(sums[channels + c] / count / spread);
        shift[c] = static_cast<float>(sums[c] / count);
    }
    for (int sample = 0; sample != samples; ++sample) {
        for (std::ptrdiff_t pixel = 0; pixel != pixels; ++pixel) {
            const std::ptrdiff_t at = pixel * static_cast<std::ptrdiff_t>(channels);
            const float *const from = dy[sample] + at, *const value = count == 0 ? nullptr : x[sample] + at;
            float* const to = dx[sample] + at;
            if (count == 0) {
                for_each_vector<Arch>(
                    channels, [&](std::size_t c, auto kind) __attribute__((always_inline)) {
                        using Number = decltype(kind);
                        store_number(Number(load_number<Number>(from + c) * load_number<Number>(slope + c)), to + c);
                    });
                continue;
            }
            for_each_vector<Arch>(
                channels, [&](std::size_t c, auto kind) __attribute__((always_inline)) {
                    using Number = decltype(kind);
                    const Number distance = load_number<Number>(value + c) - load_number<Number>(mean + c);
                    const Number own = load_number<Number>(from + c) - load_number<Number>(shift + c);
                    const Number rest = own - distance * load_number<Number>(lean + c);
                    store_number(Number(rest * load_number<Number>(slope + c)), to + c);
                });
        }
    }
}

/// dgamma and dbeta from those sums are added to what is there; either may be null.
template <class Arch>
void batch_norm_parameter_gradients(std::size_t channels, const float* variance, float epsilon, const double* sums,
                                    float* dgamma, float* dbeta) noexcept {
    for (std::size_t c = 0; c != channels; ++c) {
        if (dgamma != nullptr)
            dgamma[c] += static_cast<float>(sums[channels + c] / std::sqrt(double{variance[c]} + double{epsilon}));
        if (dbeta != nullptr) dbeta[c] += static_cast<float>(sums[c]);
    }
}

}  // namespace zp::inline v0::kernel
